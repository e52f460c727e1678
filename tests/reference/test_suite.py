"""The suite is the same for the same seed, covers the format, and its cases are rows of `backchat parse`."""

import json
from random import Random

import pytest

from .suite import GROUPS, cases, refit
from .suite.calls import call_list, nested
from .suite.chats import conversation
from .suite.serving import template

#: Arguments of content parsers, and keys of fields; each occurs in some template.
KEYS = [
    *["open", "open_pattern", "close", "close_pattern", "repeats", "join", "optional", "transform", "transform_each"],
    *["strip", "unquoted_keys", "string_delims", "allow_non_json", "tag_pattern", "value_parser", "merge_duplicates"],
    *["line_sep", "kv_sep", "defaults", "version", "start_anchor", "start_anchor_pattern"],
]
PARSERS = ["text", "int", "float", "bool", "json", "xml-inline", "kv-lines", "python-call-list"]


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_makes_rows(name):
    made = list(cases(name, seed=1, count=10))
    assert made
    for case in made:
        assert case.keys() == {"template", "prefix", "text", "tools", "chunks"}
        assert sum(case["chunks"]) == len(case["text"])
        assert json.loads(json.dumps(case)) == case
        assert refit(case)["chunks"] == case["chunks"]


@pytest.mark.parametrize("name", ["mixed", "real-malformed"])
def test_a_case_depends_on_its_seed_alone(name):
    few, many, other = (list(cases(name, *how)) for how in ((1, 3), (1, 9), (2, 9)))
    assert many[: len(few)] == few
    assert many != other


def test_every_key_and_every_parser_occurs():
    text = json.dumps([case["template"] for name in GROUPS for case in cases(name, seed=1, count=30)])
    assert [key for key in KEYS if f'"{key}"' not in text] == []
    assert [parser for parser in PARSERS if f'"{parser}"' not in text] == []


def test_lists_of_calls_are_balanced():
    for number in range(50):
        text = call_list(Random(number)).strip()
        assert text.startswith("[") and text.endswith("]")
    assert nested(3) == "[f(a=[[[]]])]"


def test_conversations_and_templates_are_json():
    for number in range(50):
        context = conversation(Random(number))
        assert context["messages"] and json.loads(json.dumps(context)) == context
        spec = template(Random(number))
        assert json.loads(json.dumps(spec)) == spec
