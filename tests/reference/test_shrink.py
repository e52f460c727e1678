"""The shrinker keeps what matters and nothing else."""

from .shrink import shrink, smaller
from .suite import refit


def test_a_text_keeps_the_characters_that_matter():
    assert shrink("so {the} sun, {été}", lambda text: "{" in text and text.endswith("}")) == "{}"


def test_a_template_keeps_the_key_that_matters():
    spec = {"version": 1, "fields": {"a": {"open": "<a>", "join": "-", "repeats": True}, "b": {"close": ["</b>", "x"]}}}
    assert shrink(spec, lambda spec: "repeats" in spec.get("fields", {}).get("a", {})) == {
        "fields": {"a": {"repeats": True}}
    }


def test_words_become_letters_without_a_meaning():
    assert shrink("return 2026", lambda text: len(text.split()) == 2) == "a 1"


def test_a_case_keeps_its_parts_and_its_chunks_fit():
    case = refit({"template": {"fields": {"v": {}}}, "text": "abcdef", "chunks": [2, 0, 3, 1]})
    small = shrink(case, lambda case: "d" in case["text"], repair=refit)
    assert small == {"template": None, "prefix": "", "tools": None, "text": "d", "chunks": [1]}


def test_it_stops():
    seen = []
    shrink("a" * 100, lambda text: bool(seen.append(text)) or len(text) > 90, checks=7)
    assert len(seen) == 7


def test_nothing_is_smaller_than_nothing():
    for value in ("", [], {}, None, True, 0, "a"):
        assert list(smaller(value)) in ([], [""])
