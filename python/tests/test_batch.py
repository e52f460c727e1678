"""Batches: rows in order, errors by row, the same bytes as the command."""

import gc
import json
import subprocess
import sys
from typing import Any

import backchat
import pytest
from test_parser import MESSAGE, OUTPUT, SPEC

BAD = "<call>nothing</call>"


def test_rows_come_in_order_on_any_number_of_threads():
    texts = [f"{number}<end>" for number in range(1000)]
    for threads in (None, 1, 3):
        rows = backchat.parse_batch(texts, SPEC, prefix="<bot>", threads=threads)
        assert [row["content"] for row in rows] == [str(number) for number in range(1000)]
        assert rows.errors == {}


def test_rows_that_cannot_be_parsed():
    rows = backchat.parse_batch([OUTPUT, BAD], SPEC, prefix="<bot>")
    assert rows == [MESSAGE, None]
    assert list(rows.errors) == [1] and rows.errors[1].row == 1 and "tool_calls" in str(rows.errors[1])
    with pytest.raises(backchat.ParseError) as raised:
        backchat.parse_batch([OUTPUT, BAD], SPEC, prefix="<bot>", errors="raise")
    assert raised.value.row == 1
    rows = backchat.parse_batch([BAD], SPEC, prefix="<bot>", errors="text")
    assert rows == [{"role": "assistant", "content": BAD}]


def test_a_row_without_an_output_fails_alone():
    rows = backchat.parse_batch([None, OUTPUT], SPEC, prefix="<bot>")
    assert rows == [None, MESSAGE]
    assert str(rows.errors[0]) == "the row is None: it has no output"
    assert backchat.parse_batch([None], SPEC, prefix="<bot>", errors="text") == [None]
    with pytest.raises(backchat.ParseError, match="no output"):
        backchat.parse_batch([OUTPUT, None], SPEC, prefix="<bot>", errors="raise")
    with pytest.raises(TypeError, match="row 1: the output is a str, not int"):
        backchat.parse_batch([OUTPUT, 1], SPEC, prefix="<bot>")


def test_a_row_without_a_prompt_fails_alone():
    rows = backchat.parse_batch(["Hi", "Ho", "Hu"], SPEC, prefix=[None, "", "\ud800"])
    assert rows == [None, {"role": "assistant", "content": "Ho"}, None] and sorted(rows.errors) == [0, 2]
    assert "`prefix` of the row is None" in str(rows.errors[0])
    rows = backchat.parse_batch(["Hi"], SPEC, prefix=[None], errors="text")
    assert rows == [{"role": "assistant", "content": "Hi"}] and rows.errors == {}


def test_a_row_that_python_cannot_hold_fails_alone():
    long = '<call>{"name": "f", "args": {"a": DIGITS, "b": [1]}}</call>'.replace("DIGITS", "9" * 5000)
    rows = backchat.parse_batch([long, "x\ud800", OUTPUT], SPEC, prefix="<bot>")
    assert rows == [None, None, MESSAGE] and list(rows.errors) == [0, 1]
    assert "limit" in str(rows.errors[0]) and "surrogates" in str(rows.errors[1])
    rows = backchat.parse_batch([long, OUTPUT], SPEC, prefix="<bot>", errors="text")
    assert rows == [{"role": "assistant", "content": long}, MESSAGE]
    with pytest.raises(backchat.ParseError) as raised:
        backchat.parse_batch([OUTPUT, long], SPEC, prefix="<bot>", errors="raise")
    assert raised.value.row == 1


class Tensor:
    """What an array or a tensor has."""

    def __init__(self, rows):
        self.rows = rows

    def tolist(self):
        return self.rows


class Encoding:
    """What a tokenizer of transformers returns."""

    def __init__(self, rows):
        self.input_ids = rows


def test_arrays_and_encodings_are_lists():
    texts = [OUTPUT, OUTPUT]
    for given in (Tensor(texts), Encoding(texts), Encoding(Tensor(texts))):
        assert backchat.parse_batch(given, SPEC, prefix="<bot>") == [MESSAGE, MESSAGE]


def test_a_signal_ends_a_batch():
    run = """
import _thread, signal, threading, backchat
# A shell starts what it runs in the background with this signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.3, _thread.interrupt_main).start()
template = {"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}
try:
    while True:
        backchat.parse_batch(["a" * 100] * 5_000, template, prefix="<bot>")
except KeyboardInterrupt:
    print("ended")
"""
    told = subprocess.run([sys.executable, "-c", run], check=False, capture_output=True, text=True, timeout=60)
    assert told.stdout == "ended\n", told.stderr


def test_every_kind_of_value_is_converted():
    values: dict[str, object] = {
        "none": None,
        "yes": True,
        "big": 10**30,
        "float": -1.5,
        "list": [[], {}, [1, "ä"]],
        "k" * 100: {"a": {}},
        "": "",
    }
    text = f"<call>{json.dumps({'name': 'f', 'args': values})}</call>"
    for threads in (1, 2):
        rows = backchat.parse_batch([text] * 600, SPEC, prefix="<bot>", threads=threads)
        assert rows == [backchat.parse_response(text, SPEC, prefix="<bot>")] * 600
        assert rows[0]["tool_calls"][0]["function"]["arguments"] == values
        # A key is one object for all rows.
        assert next(iter(rows[0])) is next(iter(rows[-1]))


def test_errors_come_in_order():
    texts = [OUTPUT, BAD] * 400
    for threads in (1, 3):
        rows = backchat.parse_batch(texts, SPEC, prefix="<bot>", threads=threads)
        assert list(rows.errors) == list(range(1, 800, 2)) and rows[::2] == [MESSAGE] * 400
        with pytest.raises(backchat.ParseError) as raised:
            backchat.parse_batch(texts, SPEC, prefix="<bot>", threads=threads, errors="raise")
        assert raised.value.row == 1


@pytest.mark.parametrize("runs", [True, False])
def test_the_collector_keeps_its_state(runs):
    before = gc.isenabled()
    try:
        (gc.enable if runs else gc.disable)()
        backchat.parse_batch([OUTPUT] * 10, SPEC, prefix="<bot>")
        assert gc.isenabled() is runs
    finally:
        (gc.enable if before else gc.disable)()


def test_one_value_for_all_rows_or_one_per_row():
    other = {"start_anchor": "<bot>", "fields": {"answer": {"close": "<end>"}}}
    rows = backchat.parse_batch(["a<end>", "b<end>"], [SPEC, other], prefix=["<bot><think>", "<bot>"])
    assert rows == [{"role": "assistant", "thinking": "a<end>"}, {"answer": "b"}]
    tools = [{"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}]
    call = '<call>{"name": "f", "args": {"a": "7"}}</call>'
    rows = backchat.parse_batch([call, call], SPEC, prefix="<bot>", tools=[tools, None])
    assert [row["tool_calls"][0]["function"]["arguments"]["a"] for row in rows] == [7, "7"]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"prefix": ["a"]}, ValueError, "one for each"),
        ({"prefix": "", "threads": 0}, ValueError, "threads"),
        ({"prefix": "", "errors": "drop"}, ValueError, "collect"),
        ({"prefix": "", "output": "xml"}, ValueError, "json"),
        ({"prefix": "", "stop_ids": [1]}, ValueError, "`stop_ids` need a `tokenizer`"),
        ({"prefix": "", "policy": "either"}, ValueError, "`policy` needs a `tokenizer`"),
        ({}, ValueError, "requires `prefix`"),
    ],
)
def test_wrong_use(options, error, words):
    with pytest.raises(error, match=words):
        backchat.parse_batch(["a", "b"], SPEC, **options)
    with pytest.raises(TypeError, match="`texts` is a list"):
        backchat.parse_batch("a", SPEC, prefix="")


def test_the_command_prints_the_same_bytes(tmp_path):
    (tmp_path / "template.json").write_text(json.dumps(SPEC))
    texts = [OUTPUT, "Ja<end>", "<think>cut", ""]
    rows = [{"id": number, "text": text, "prefix": "<bot>"} for number, text in enumerate(texts)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-m", "backchat", "parse", str(tmp_path / "template.json"), "--jsonl"]
    told = subprocess.run([*command, str(tmp_path / "rows.jsonl")], capture_output=True, text=True, check=True).stdout
    wanted = [json.loads(line)["message"] for line in told.splitlines()]
    assert [json.loads(row) for row in backchat.parse_batch(texts, SPEC, prefix="<bot>", output="json")] == wanted


def test_columns_of_arrow():
    pa = pytest.importorskip("pyarrow")
    from backchat.arrow import parse_batches, parse_table

    holes = pa.table({"text": [None, OUTPUT]})
    found = parse_table(holes, SPEC, prefix="<bot>").column("message").to_pylist()
    assert [row and json.loads(row) for row in found] == [None, MESSAGE]
    table = pa.table({"text": [OUTPUT, BAD], "prompt": ["<bot>", "<bot>"]})
    found = parse_table(table, SPEC, prefix_column="prompt").column("message").to_pylist()
    assert [row and json.loads(row) for row in found] == [MESSAGE, None]
    found = parse_table(table, SPEC, prefix="<bot>", layout="struct").column("message").to_pylist()
    assert found[0] == {
        "role": "assistant",
        "content": "Äh, yes.",
        "reasoning_content": "Hm",
        "tool_calls": [{"id": None, "name": "f", "arguments": '{"a": 1}'}],
        "other": None,
    }
    batches = list(parse_batches(table.to_batches(), SPEC, prefix="<bot>"))
    assert [batch.schema.names for batch in batches] == [["text", "prompt", "message"]]
    found = parse_table(pa.table({"text": ["Hi", "Ho"], "prompt": ["", None]}), SPEC, prefix_column="prompt")
    assert [row is None for row in found.column("message").to_pylist()] == [False, True]


def test_what_a_table_has_stays():
    pa = pytest.importorskip("pyarrow")
    from backchat.arrow import parse_batches, parse_table

    field = pa.field("text", pa.string(), nullable=False, metadata={b"unit": b"answer"})
    table = pa.table({"text": [OUTPUT, BAD]}, schema=pa.schema([field], metadata={b"huggingface": b"{}"}))
    (batch,) = table.to_batches()
    (parsed,) = parse_batches([batch], SPEC, prefix="<bot>", errors_into="error")
    for made in (parsed, parse_table(table, SPEC, prefix="<bot>", errors_into="error")):
        assert made.schema.metadata == table.schema.metadata and made.schema.names == ["text", "message", "error"]
        assert made.schema.field("text").equals(field, check_metadata=True)
        assert made.column("text").to_pylist() == [OUTPUT, BAD]
    taken: list[dict[str, Any]] = [{"into": "text"}, {"errors_into": "text"}, {"into": "new", "problems_into": "new"}]
    for names in taken:
        with pytest.raises(ValueError, match="exists already"):
            parse_table(table, SPEC, prefix="<bot>", **names)
