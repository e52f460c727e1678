"""Properties of any template, any text and any cuts, tested with hypothesis."""

import contextlib
import json
import os
import threading
from pathlib import Path

import backchat
import pytest
from test_parser import MESSAGE, OUTPUT, SPEC, joined

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

settings.register_profile("anew", deadline=None, max_examples=200)
# The same cases on every run, so that a failure is caused by the change.
settings.register_profile("same", settings.get_profile("anew"), derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "anew"))

FOLDER = Path(__file__).parent.parent.parent / "tests/templates"
KNOWN = [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]

#: What delimiters and texts are made of, so that the two meet.
MARKS = ["<a>", "</a>", "<b>", "</b>", "<ab>", "<end>", "<", ">", "\n", "\n\n", "a", "ab", "b", "x"]
PATTERNS = ["<[ab]>", "</[ab]>", "<(?P<name>[a-z]+)>", "a+b", "(?:<end>|$)", "\\n{2,}", "\\s*</a>", "(?<=b)>", "x(?!b)"]
FRAGMENTS = [
    *MARKS,
    *("aba", "ba", ".", "-", " ", ";", ":", "</", "x>", "<e>", "§", "(", ")", ">> ", "call:", "end", "no", "[call f("),
    *("é", "日本", "\U0001f642", "\x1c", "1", "-2.5", "true", '{"n": 1}', "[{}]", '"', "{k: 'v'}", "key: value"),
]


def delimiter(kind):
    literal = st.sampled_from(MARKS).map(lambda text: {kind: text})
    pattern = st.sampled_from(PATTERNS).map(lambda text: {f"{kind}_pattern": text})
    return literal | pattern


FIELD = st.builds(
    lambda open, close, rest: {**open, **close, **rest},
    delimiter("open"),
    delimiter("close"),
    st.fixed_dictionaries(
        {},
        optional={
            "repeats": st.just(True),
            "content": st.sampled_from(["text", "json", "int", "float", "bool", "xml-inline", "kv-lines"]),
            "transform": st.sampled_from(["{content}", {"type": "function", "value": "{content}"}]),
            "optional": st.just(False),
        },
    ),
)


def load(spec):
    """The template, or `None` if the generated one is invalid."""
    try:
        return backchat.Template(spec)
    except backchat.TemplateError as error:
        assert error.diagnostics and str(error)
        return None


GENERATED = st.builds(
    lambda fields, implicit: {"start_anchor": "<bot>", "fields": {**fields, **implicit}},
    st.dictionaries(st.sampled_from(["thinking", "tool_calls", "note"]), FIELD, max_size=3),
    st.sampled_from([{}, {"content": {}}, {"content": {"close": "<end>"}}]),
)
TEMPLATES = st.sampled_from(KNOWN).map(load) | GENERATED.map(load).filter(bool)
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join) | st.text(max_size=20)


def fragments(template):
    """The template's own markers, whole and in halves, as parts of texts."""
    marks = [template.to_dict().get("start_anchor", "")]
    for field in template.to_dict()["fields"].values():
        for key in ("open", "close"):
            mark = field.get(key, [])
            marks += [mark] if isinstance(mark, str) else mark
    halves = [half for mark in marks for half in (mark[: len(mark) // 2], mark[len(mark) // 2 :])]
    return [*marks, *halves]


def cases(template):
    """A template, a prefix and a text."""
    texts = st.lists(st.sampled_from(fragments(template)) | st.sampled_from(FRAGMENTS), max_size=14).map("".join)
    return st.tuples(st.just(template), texts | TEXTS, texts | TEXTS)


CASES = TEMPLATES.flatmap(cases)
CUTS = st.lists(st.integers(1, 6), min_size=1, max_size=6)


def pieces(text, lengths):
    """The text, cut into pieces of these lengths cyclically."""
    start = 0
    found: list[str] = []
    while start < len(text):
        length = lengths[len(found) % len(lengths)]
        found.append(text[start : start + length])
        start += length
    return found


def parsed(template, prefix, chunks, **options):
    """The message or the error, and the events with the chunks of a region merged."""
    parser = backchat.ResponseParser(template, prefix, **options)
    events = list(parser.initial_events)
    for chunk in chunks:
        events += parser.feed(chunk)
    try:
        message, last = parser.finalize()
    except backchat.ParseError as error:
        return str(error), None
    return message, joined(events + last)


@given(CASES, CUTS)
def test_one_answer_for_all_cuts(case, lengths):
    template, prefix, text = case
    whole = parsed(template, prefix, [text])
    for cuts in ([1], lengths):
        assert parsed(template, prefix, pieces(text, cuts)) == whole


@given(CASES, CUTS)
def test_a_stream_gives_the_answer_of_the_whole_text(case, lengths):
    template, prefix, text = case
    message, _ = parsed(template, prefix, pieces(text, lengths))
    try:
        assert backchat.parse_response(text, template, prefix=prefix, errors="event") == message
    except backchat.ParseError as error:
        assert str(error) == message
    rows = backchat.parse_batch([text], template, prefix=prefix, errors="collect")
    try:
        assert [backchat.parse_response(text, template, prefix=prefix)] == rows
    except backchat.ParseError as error:
        assert rows == [None] and str(rows.errors[0]) == str(error)


@given(CASES, CUTS)
def test_reference_mode_raises_only_documented_errors(case, lengths):
    template, prefix, text = case
    # As in transformers, a malformed region raises where it ends.
    with contextlib.suppress(backchat.ParseError):
        parsed(template, prefix, pieces(text, lengths), mode="reference")


@given(CASES, CUTS)
def test_spans_are_positions_in_the_input(case, lengths):
    template, prefix, text = case
    parser = backchat.ResponseParser(template, prefix, spans=True)
    written = parser.input_text
    assert prefix.endswith(written)
    shown = ""
    for piece in pieces(text, lengths):
        for event in parser.feed(piece):
            shown += event["text"] if event["type"] == "region_chunk" else ""
            if "start" in event:
                assert 0 <= event["start"] <= event["end"] <= len(parser.input_text)
    assert parser.input_text == written + text
    assert parser.held.text == "" or parser.input_text.endswith(parser.held.text)
    # No chunk contains text of the prompt.
    assert len(shown) <= len(text)


@given(TEMPLATES)
def test_a_template_round_trips(template):
    assert backchat.Template(template.to_dict()) == backchat.Template(template.to_json()) == template


@given(TEMPLATES, TEXTS, st.characters(categories=["Cs"]), TEXTS)
def test_lone_surrogates_are_refused_before_anything_is_parsed(template, before, surrogate, after):
    text = before + surrogate + after
    parser = backchat.ResponseParser(template, "")
    for call in (
        lambda: parser.feed(text),
        lambda: backchat.parse_response(text, template, prefix=""),
        lambda: backchat.parse_response("", template, prefix=text),
        lambda: backchat.ResponseParser(template, text),
        lambda: backchat.Template({"start_anchor": text, "fields": {}}),
    ):
        with pytest.raises(UnicodeEncodeError):
            call()
    assert parser.message == backchat.ResponseParser(template, "").message and parser.held.text == ""


NO_TEXT = (
    st.integers() | st.binary() | st.lists(st.integers()) | st.floats() | st.dictionaries(st.text(), st.integers())
)


@given(NO_TEXT, NO_TEXT.filter(lambda value: not isinstance(value, dict)))
def test_wrong_types_are_type_errors(value, spec):
    parser = backchat.ResponseParser(SPEC, "")
    for call in (
        lambda: parser.feed(value),
        lambda: parser.feed(None),  # type: ignore[arg-type]
        lambda: backchat.ResponseParser(SPEC, value),
        lambda: backchat.parse_response(value, SPEC, prefix=""),
        lambda: backchat.parse_response("", SPEC, prefix=value),
        lambda: backchat.parse_response("", spec, prefix=""),
        lambda: backchat.parse_batch([value], SPEC, prefix=""),
        lambda: backchat.Template(spec),
        lambda: backchat.Template({"start_anchor": "<bot>", "fields": {"x": spec, 1: {}}}),
    ):
        with pytest.raises(TypeError):
            call()
    assert parser.finalize() == ({"role": "assistant"}, [])


@given(TEMPLATES, TEXTS, TEXTS)
def test_a_parser_accepts_no_input_after_its_end(template, text, more):
    parser = backchat.ResponseParser(template, "")
    parser.feed(text)
    try:
        message = parser.finalize()[0]
    except backchat.ParseError:
        message = parser.message
    for call in (lambda: parser.feed(more), parser.finalize):
        with pytest.raises(RuntimeError, match="already finalized"):
            call()
    assert parser.message == message and parser.current_field is None and parser.held.text == ""


def test_a_parser_in_use_refuses_a_second_thread():
    tools = [{"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}]
    parser = backchat.ResponseParser(SPEC, "<bot>", tools=tools)
    refused = []

    def feed():
        try:
            parser.feed(OUTPUT)
        except RuntimeError as error:
            refused.append(str(error))

    class Number(int):
        """Its value is read while the parser works."""

        def __int__(self):
            thread = threading.Thread(target=feed)
            thread.start()
            thread.join()
            return 1

    parser._coerce_tool_calls([Number()])  # type: ignore[attr-defined, unused-ignore]
    assert refused == ["Already borrowed"]
    parser.feed(OUTPUT)
    assert parser.finalize()[0] == MESSAGE


def test_a_dict_that_changes_while_it_is_read():
    defaults = {}

    class Number(int):
        """Its value is read while the dict is read."""

        def __int__(self):
            defaults.update({str(number): number for number in range(100)})
            return 1

    defaults["a"] = Number(1)
    template = backchat.Template({"start_anchor": "<bot>", "defaults": defaults, "fields": {"content": {}}})
    assert template.to_dict()["defaults"] == {"a": 1}


def test_two_threads_at_once_break_nothing():
    template, calls = backchat.Template(SPEC), 2000
    parser, wrong = backchat.ResponseParser(template, "<bot>"), []

    def feed():
        for _ in range(calls):
            try:
                parser.feed("ab")
            except RuntimeError as error:  # without a lock of the interpreter
                wrong.append(str(error))

    threads = [threading.Thread(target=feed) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(wrong) <= {"Already borrowed"}
    parser.feed("<end>")
    assert parser.finalize()[0]["content"] == "ab" * (2 * calls - len(wrong))
