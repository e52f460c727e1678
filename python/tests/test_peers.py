"""Compares with the servers' own parsers: the same messages and events.

BACKCHAT_TEST_PEERS names a folder in which the wheels of vLLM and SGLang are unpacked; nothing else of them is loaded
than the parser that each carries, which needs the package `regex`. transformers' is the one that is installed.
"""

import importlib
import json
import os
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import backchat
import pytest
from backchat.integrations import sglang, vllm
from backchat.integrations._spec import spec_of
from test_parser import joined

ROOT = Path(__file__).parents[2]
PEERS = {
    "vllm": (vllm.ResponseParser, "vllm/parser/chat_parsing"),
    "sglang": (sglang.ResponseParser, "sglang/srt/parser/chat_parsing"),
}
NAMES = sorted(path.stem for path in (ROOT / "derived").glob("*.json"))
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Tells the weather.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
            },
        },
    }
]
CALL = {
    "type": "function",
    "id": "abcdefghi",
    "function": {"name": "weather", "arguments": {"city": "Oslo", "days": 3}},
}
TURNS: list[dict[str, Any]] = [
    {"content": "It is *cold* <in> Oslo.\n\nTake {care}!"},
    {"content": "Cold.", "thinking": "Oslo, then.", "reasoning_content": "Oslo, then."},
    {"content": "", "tool_calls": [CALL]},
    {"content": "One moment.", "thinking": "Ask.", "reasoning_content": "Ask.", "tool_calls": [CALL]},
]


@pytest.fixture(scope="module", params=[*PEERS, "transformers"])
def peer(request):
    """The module of a peer's parser, and a constructor of ours with its interface."""
    if "BACKCHAT_TEST_PEERS" not in os.environ:
        pytest.skip("set BACKCHAT_TEST_PEERS to a folder with the unpacked wheels of vLLM and SGLang")
    pytest.importorskip("regex")
    if request.param == "transformers":
        pytest.importorskip("transformers", minversion="5.13")
        return importlib.import_module("transformers.utils.chat_parsing.response_parser"), reference
    ours, place = PEERS[request.param]
    folder = Path(os.environ["BACKCHAT_TEST_PEERS"]) / place
    assert folder.is_dir(), f"there is no {folder}"
    # Only its own files, without the package around them, which has many dependencies.
    package = ModuleType(f"peer_{request.param}")
    package.__path__ = [str(folder)]
    sys.modules[package.__name__] = package
    return importlib.import_module(f"{package.__name__}.response_parser"), ours


def reference(template, prefix, tools=None):
    return backchat.ResponseParser(template, prefix, tools=tools, mode="reference", errors="raise")


def streams(name):
    """Prompts and outputs from a model's chat template."""
    chat_template = (ROOT / "chat_templates" / f"{name}.jinja").read_text(encoding="utf-8")
    asked = [{"role": "user", "content": "How is it in Oslo?"}]
    for turn in TURNS:
        try:
            prompt = backchat.render(chat_template, asked, tools=TOOLS, add_generation_prompt=True).text
            whole = backchat.render(chat_template, [*asked, {"role": "assistant", **turn}], tools=TOOLS).text
        except ValueError:
            continue
        # A prompt that opens reasoning does not begin a turn whose reasoning the template drops.
        prompt = os.path.commonprefix([prompt, whole])
        yield prompt, whole[len(prompt) :]


def cuts(text):
    """The text as a whole, by character, and in pieces of a sampler's size."""
    draw = random.Random(text)
    pieces, start = [], 0
    while start < len(text):
        end = start + draw.randint(1, 9)
        pieces.append(text[start:end])
        start = end
    return [text], list(text), pieces


def follow(make, template, prefix, pieces):
    """The message and the events, with the chunks of a region merged: how much is held may differ."""
    parser = make(template, prefix, tools=TOOLS)
    events = list(parser.initial_events)
    for piece in pieces:
        events += parser.feed(piece)
    message, last = parser.finalize()
    return message, joined(events + last)


@pytest.mark.parametrize("name", NAMES)
def test_every_output_of_a_chat_template(peer, name):
    theirs, ours = peer
    template = json.loads((ROOT / "derived" / f"{name}.json").read_text(encoding="utf-8"))
    found = list(streams(name))
    assert found
    for prompt, output in found:
        for pieces in cuts(output):
            wanted = follow(theirs.ResponseParser, template, prompt, pieces)
            assert follow(ours, template, prompt, pieces) == wanted, (output, pieces)


@pytest.mark.parametrize("name", NAMES)
def test_a_template_that_the_peer_has_loaded(peer, name):
    theirs, _ = peer
    template = json.loads((ROOT / "derived" / f"{name}.json").read_text(encoding="utf-8"))
    loaded = theirs.load_response_template(template)
    assert backchat.Template(spec_of(loaded)) == backchat.Template(template)


#: Where a close can match nothing, the peers lose text or never end: COMPATIBILITY.md, "Streaming".
ENDS_AT_NOTHING = ("end-alternative", "end-before-newline", "nothing-at-all", "zero-width-implicit-close")
TEMPLATES = sorted(path for path in (ROOT / "tests/templates").glob("*.json") if path.stem not in ENDS_AT_NOTHING)


def fragments(template):
    """The markers of a template, whole and in halves, and the text between them."""
    marks = [".", "a", "b", " ", "\n", "1", '"', '{"a": 1}', "é", "<end>", "<call>", "</call>", "k: v", "</", "x>"]
    for spec in (template, *template["fields"].values()):
        for key in ("start_anchor", "open", "close"):
            found = spec.get(key, [])
            marks += [found] if isinstance(found, str) else found
    return [*marks, *(half for mark in marks for half in (mark[: len(mark) // 2], mark[len(mark) // 2 :]))]


def told(make, *arguments):
    """The result of `follow`, or `None` if there is no message."""
    try:
        message, events = follow(make, *arguments)
    except ValueError:
        return "no message"
    for event in events:
        if "error" in event:
            event["error"] = isinstance(event["error"], Exception)
    return message, events


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_any_text(peer, path):
    theirs, ours = peer
    template = json.loads(path.read_text(encoding="utf-8"))
    draw = random.Random(path.stem)
    words = fragments(template)
    for _ in range(100):
        text = "".join(draw.choices(words, k=draw.randint(0, 12)))
        prefix = draw.choice(["", template.get("start_anchor", "")])
        wanted = told(theirs.ResponseParser, template, prefix, [text])
        assert told(ours, template, prefix, [text]) == wanted, (prefix, text)
