"""The judge sees every kind of difference, and none where there is none."""

import pytest

pytest.importorskip("regex")

from .judge import departs, difference, plain, stable_difference

OPEN = {"type": "region_open", "field": "v"}


def answer(*feeds, message=None, **more):
    return {"initial_events": [], "feeds": list(feeds), "final_events": [], "message": message or {}, **more}


def chunk(text, **more):
    return {"type": "region_chunk", "field": "v", "text": text, "dirty": False, **more}


def failed(stage, *feeds):
    return {"initial_events": [], "feeds": list(feeds), "error": {"stage": stage, "message": "so"}}


WHOLE = answer([OPEN, chunk("ab")])
SPLIT = answer([OPEN, chunk("a"), chunk("b")])


@pytest.mark.parametrize(
    ("theirs", "ours", "kind"),
    [
        (WHOLE, SPLIT, None),
        (WHOLE, answer([OPEN, chunk("a")], [chunk("b")]), "text released at another feed"),
        (WHOLE, answer([OPEN, chunk("ab", dirty=True)]), "other events"),
        (answer(message={"v": 1}), answer(message={"v": 1.0}), "another message"),
        (answer(message={"v": 1}), answer(message={"v": True}), "another message"),
        (answer(message={"a": 1, "b": 2}), answer(message={"b": 2, "a": 1}), "another message"),
        (answer(message={"v": float("nan")}), answer(message={"v": None}), None),
        (answer(message={"v": "\ud800"}), answer(message={"v": "\ufffd"}), None),
        (failed("feed"), failed("feed"), None),
        (failed("feed", [OPEN]), failed("feed"), "events before the error"),
        (failed("feed"), failed("load"), "an error at load, theirs at feed"),
        (failed("feed"), WHOLE, "no error, theirs at feed"),
        (WHOLE, failed("feed"), "an error at feed"),
        (failed("hang"), WHOLE, None),
        (WHOLE, failed("hang"), "a hang"),
        (answer([{**OPEN, "start": 0}]), answer([OPEN]), "an event region_open with ['start']"),
    ],
)
def test_kinds(theirs, ours, kind):
    assert difference(theirs, ours, by_feed=True) == kind


def test_numbers_keep_their_type():
    assert plain({"a": [1, 1.0, True]}) != plain({"a": [1, 1, True]})


@pytest.mark.parametrize(
    ("field", "is_left_out"),
    [
        ({"close": "<e>"}, False),
        ({"close_pattern": "<e>"}, False),
        ({"close_pattern": "<e>|$"}, True),
        ({"open": "<x>", "close_pattern": "<e>|$"}, False),
        ({"open": "<x>", "content": "json", "content_args": {"unquoted_keys": True}}, True),
    ],
)
def test_where_stable_mode_departs(field, is_left_out):
    case = {"template": {"fields": {"v": field}}, "prefix": "", "text": "so"}
    assert departs(case) == is_left_out


def test_a_missing_field_is_named():
    case = {"template": {"fields": {}}, "prefix": "", "text": ""}
    missing = {"error": {"stage": "finalize", "message": "ValueError: Required response_template fields missing"}}
    assert stable_difference(case, missing, answer()) == "no missing field"
    assert stable_difference(case, missing, answer(missing=["v"])) is None
