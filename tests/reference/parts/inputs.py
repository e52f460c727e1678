"""What Python programs pass for messages and tools: objects, and functions with docstrings."""

from __future__ import annotations

import collections
import dataclasses
import enum
import json
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import backchat
import numpy
import openai.types.chat
import pydantic
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from transformers import __version__ as transformers_version

from ..report import Difference, Result
from . import Options

#: What the release of transformers that is tested makes of every input: Backchat leaves functions to transformers, so
#: that both change together.
RECORDED = Path(__file__).parents[1] / "recorded.json"
#: Prints what a chat template is given.
SHOWS = "{{ messages | tojson }}\n{{ tools | tojson }}"


@dataclasses.dataclass
class Data:
    role: str
    content: Any = None
    tool_calls: Any = None


@dataclasses.dataclass
class Call:
    function: Any
    type: str = "function"


class Model(pydantic.BaseModel):
    role: str
    content: Any = None


class Role(str, enum.Enum):
    user = "user"


CALL = {"type": "function", "id": "c", "function": {"name": "f", "arguments": "{}"}}
#: Messages in every form, by what is special about them.
MESSAGES: dict[str, Callable[[], Any]] = {
    "dicts": lambda: [{"role": "user", "content": "Hi"}],
    "a key that is none": lambda: [{"role": "user", "content": "Hi", "name": None}],
    "a key that is none, deep inside": lambda: [
        {"role": "user", "content": [{"type": "text", "text": "Hi", "x": None}]}
    ],
    "a dataclass": lambda: [Data("user", "Hi")],
    "a dataclass in a dict": lambda: [{"role": "assistant", "tool_calls": [Call({"name": "f", "arguments": {}})]}],
    "a dataclass in a dataclass": lambda: [Data("assistant", tool_calls=[Call({"name": "f", "arguments": {}})])],
    "a pydantic model": lambda: [Model(role="user", content="Hi")],
    "a pydantic model in a dict": lambda: [{"role": "user", "content": [Model(role="text", content="Hi")]}],
    "a message of the openai client": lambda: [
        openai.types.chat.ChatCompletionMessage.model_validate(
            {"role": "assistant", "content": None, "tool_calls": [CALL]}
        )
    ],
    "a tuple of messages": lambda: ({"role": "user", "content": "Hi"},),
    "a tuple in a message": lambda: [{"role": "user", "content": ({"type": "text", "text": "Hi"},)}],
    "an enum that is text": lambda: [{"role": Role.user, "content": "Hi"}],
    "a mapping that is no dict": lambda: [collections.UserDict(role="user", content="Hi")],
    "an ordered dict": lambda: [collections.OrderedDict(role="user", content="Hi")],
    "a number of numpy": lambda: [{"role": "user", "content": "Hi", "n": numpy.float64(0.5), "i": numpy.int64(3)}],
    "an array of numpy": lambda: [{"role": "user", "content": [{"type": "image", "image": numpy.zeros(2)}]}],
}
#: The arguments of functions, and their descriptions.
FUNCTIONS = {
    "a docstring": ("a: int, b: str = 'x'", "a: The first.\n    b: The second."),
    "types in the docstring": ("a: int, b: str = 'x'", "a (int): The first.\n    b (str, optional): The second."),
    "a type with brackets in the docstring": ("a: list[int]", "a (list[int]): The first."),
    "a type with parentheses in the docstring": ("a: int", "a (tuple(int)): The first."),
    "types in the docstring of some": (
        "a: int, b: int, c: int",
        "a (int): The first.\n    b: The second.\n    c (int): The third.",
    ),
    "a description of several lines": ("a: int", "a: The first,\n        which goes on: here."),
    "choices": ("a: str", 'a: The first (choices: ["x", "y"])'),
    "a type and choices": ("a: str", 'a (str): The first (choices: ["x", "y"])'),
    "an optional": ("a: Optional[int] = None", "a: The first."),
    "a union": ("a: Union[int, list[str]]", "a: The first."),
    "a literal": ("a: Literal['x', 1]", "a: The first."),
    "an enum": ("a: Color", "a: The first."),
    "nested types": ("a: dict[str, list[tuple[int, str]]]", "a: The first."),
    "a missing description": ("a: int, b: int", "a: The first."),
    "a missing type": ("a", "a: The first."),
    "no arguments": ("", ""),
}
FUNCTION = '''
import enum
from typing import Literal, Optional, Union

class Color(enum.Enum):
    red = "red"
    blue = 2

def f({parameters}) -> str:
    """
    Does it.
{args}
    Returns:
        What it found.
    """
'''


def function(parameters: str, descriptions: str) -> tuple[Any, str]:
    """A function, and its source."""
    args = textwrap.indent(f"\nArgs:\n    {descriptions}\n", "    ") if descriptions else ""
    source = FUNCTION.format(parameters=parameters, args=args)
    names: dict[str, Any] = {}
    exec(source, names)  # noqa: S102
    return names["f"], source[source.index("def ") :].strip()


def asked(render: Callable[[], str]) -> str:
    try:
        return render()
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}".replace("\n", " ")


def refused(answer: str) -> bool:
    return not answer.startswith("[")


def inputs() -> dict[str, tuple[Any, Any, str]]:
    """The messages, the tools and the text of each input."""
    user = [{"role": "user", "content": "Hi"}]
    found = {f"messages: {name}": (made(), None, repr(made())) for name, made in MESSAGES.items()}
    for name, parts in FUNCTIONS.items():
        tool, source = function(*parts)
        found[f"tools: {name}"] = (user, [tool], source)
    return found


def compared(name: str, example: str, answers: tuple[str, str], before: str | None) -> Difference | None:
    """The difference between both answers, or of both to the one that was recorded."""
    theirs, ours = answers
    if refused(theirs) != refused(ours) or (not refused(theirs) and theirs != ours):
        return Difference(name, "rendered differently", example, theirs, ours)
    if before is not None and before != recordable(theirs):
        return Difference(name, "the same in both, and not as recorded", example, theirs, f"recorded: {before}")
    return None


def recordable(answer: str) -> str:
    """The words of a refusal may change."""
    return "refused" if refused(answer) else answer


def run(options: Options) -> Result:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()))
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    result = Result(
        f"{len(inputs())} inputs of Python programs, recorded with transformers {recorded['transformers']}."
    )
    answers = {}
    for name, (messages, tools, example) in inputs().items():
        rendered = {"tools": tools, "chat_template": SHOWS, "tokenize": False}
        theirs = asked(partial(tokenizer.apply_chat_template, messages, **rendered))
        ours = asked(lambda: backchat.render(SHOWS, messages, tools=tools).text)  # noqa: B023
        answers[name] = recordable(theirs)
        if found := compared(name, example, (theirs, ours), recorded["answers"].get(name)):
            result.differences.append(found)
    if options.record:
        record = {"transformers": transformers_version, "answers": answers}
        RECORDED.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return result
