"""Messages given as objects, and tools made of functions."""

import dataclasses
import enum
import json
from types import MappingProxyType, SimpleNamespace
from typing import Any, Literal

import backchat
import pytest
from test_tokens import CHAT as MODEL_CHAT
from test_tokens import TEMPLATE, text_of_tokenizer

CHAT = "{% for m in messages %}{{ m | tojson }}\n{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}"


@dataclasses.dataclass
class Function:
    name: str
    arguments: dict[str, Any]


@dataclasses.dataclass
class Call:
    function: Function
    type: str = "function"
    id: str | None = None


@dataclasses.dataclass
class Message:
    role: str
    content: Any = None
    tool_calls: list[Call] | None = None


class Dumped:
    """A pydantic model, as far as it matters here."""

    def __init__(self, **fields):
        self.fields = fields

    def model_dump(self):
        return self.fields


class Image:
    pass


class Role(str, enum.Enum):
    USER = "user"


def rendered(*messages, **more):
    return backchat.render(CHAT, list(messages), **more).text.splitlines()


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "Hi", "name": None},
        MappingProxyType({"role": "user", "content": "Hi"}),
        Message("user", "Hi"),
        Message(Role.USER, "Hi"),
        Dumped(role="user", content="Hi", tool_calls=None),
        Dumped(role=Role.USER, content="Hi"),
    ],
)
def test_a_message_is_an_object_of_any_kind(message):
    assert rendered(message) == ['{"role": "user", "content": "Hi"}']


def test_objects_in_messages_are_converted_and_keep_none():
    call = Call(Function("f", {"at": (1, Dumped(deep=Message("x")))}))
    arguments = {"at": [1, {"deep": {"role": "x", "content": None, "tool_calls": None}}]}
    calls = [{"function": {"name": "f", "arguments": arguments}, "type": "function", "id": None}]
    (rendering,) = rendered(Message("assistant", tool_calls=[call]))
    assert json.loads(rendering) == {"role": "assistant", "tool_calls": calls}
    assert rendered(Message("user", [{"type": "image", "image": Image()}])) == [
        '{"role": "user", "content": [{"type": "image", "image": "<Image>"}]}'
    ]


def test_transformers_renders_the_same():
    pydantic = pytest.importorskip("pydantic")
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers", minversion="5.24")
    model = pydantic.create_model
    function = model("Function", name=str, arguments=(dict[str, Any], {}))
    call = model("Call", id=(str | None, None), function=function)
    answer = model("Answer", role=(str, "assistant"), content=(str | None, None), tool_calls=list[call])  # type: ignore[valid-type]
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer.from_str(text_of_tokenizer())
    )
    messages = [
        Message(Role.USER, [{"type": "text", "text": "Hi"}, {"type": "image", "image": Image()}]),
        answer(tool_calls=[call(function=function(name="f", arguments={"a": Message("b")}))]),
        {"role": "tool", "content": None, "at": (1, None)},
        MappingProxyType({"role": "assistant", "reasoning": "Hm", "thinking": None}),
    ]
    wanted = tokenizer.apply_chat_template(messages, chat_template=CHAT, tokenize=False)
    assert backchat.render(CHAT, messages).text == wanted


@pytest.mark.parametrize("tools", [None, [], [{"type": "function", "function": {"name": "f"}}]])
def test_an_empty_list_of_tools_is_not_none(tools):
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers", minversion="5.24")
    chat = "<think>{% if tools is not none %}{{ tools | length }}{% endif %}" + MODEL_CHAT
    given = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer.from_str(text_of_tokenizer()))
    messages = [{"role": "user", "content": "Hi"}]
    wanted = given.apply_chat_template(messages, tools, chat_template=chat, tokenize=False)
    assert backchat.render(chat, messages, tools=tools).text == wanted
    assert backchat.mask(chat, messages, tools=tools).text == wanted
    prompt = given.apply_chat_template(messages, tools, chat_template=chat, add_generation_prompt=True)["input_ids"]
    bridge = backchat.Bridge(chat, given, TEMPLATE)
    assert bridge.next(messages, prompt, given.encode("Yes.<end>"), messages, tools=tools).exact


def test_reasoning_is_copied_to_its_other_names():
    assert rendered({"role": "assistant", "reasoning": "hm"}) == [
        '{"thinking": "hm", "role": "assistant", "reasoning": "hm", "reasoning_content": "hm"}'
    ]


def test_a_conversation_may_be_an_object():
    conversation: Any = SimpleNamespace(messages=(Message("user", "Hi"),))
    assert backchat.render(CHAT, conversation).text == '{"role": "user", "content": "Hi"}\n'


@pytest.mark.parametrize("message", ["Hi", 1, None, [{"role": "user"}], Message])
def test_other_messages_are_refused(message):
    with pytest.raises(TypeError, match="should be dicts, dataclasses or pydantic models, but got"):
        backchat.render(CHAT, [message])


def test_other_values_outside_of_messages_are_refused():
    with pytest.raises(TypeError, match="expected a JSON value .*, not Image"):
        backchat.render(CHAT, [], variables={"x": Image()})
    assert backchat.render("{{ x.role }}", [], variables={"x": Message("user")}).text == "user"


def test_numpy_s_scalars_are_numbers():
    numpy = pytest.importorskip("numpy")
    message = {"role": "user", "n": numpy.int64(3), "on": numpy.bool_(False), "x": numpy.zeros(3)}
    assert rendered(message) == ['{"role": "user", "n": 3, "on": false, "x": "<ndarray>"}']


def test_masks_and_bridges_take_objects():
    tokenizer = backchat.Tokenizer(text_of_tokenizer())
    user, answer = Message("user", "Hi"), Dumped(role="assistant", content="Yes.", tool_calls=None)
    masked = backchat.mask(MODEL_CHAT, [user, answer])
    assert [masked.text[start:end] for start, end in masked.spans] == ["Yes.<end>"]
    bridge = backchat.Bridge(MODEL_CHAT, tokenizer, TEMPLATE)
    prompt, sampled = tokenizer.encode("<user>Hi<end><model>"), tokenizer.encode("Yes.<end>")
    assert bridge.next([user], prompt, sampled, [user]).text == "<user>Hi<end><model>"


def test_a_request_may_hold_objects():
    chat = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}[assistant]"
    grammar = backchat.Grammar(chat)
    answer = {"role": "assistant", "content": "Yes."}
    wanted = grammar.for_request(request={"messages": [answer]})
    assert grammar.for_request(request={"messages": [Message("assistant", "Yes.")]}) == wanted
    assert grammar.for_request(request={"messages": [{**answer, "name": None}]}) == wanted


class Unit(enum.Enum):
    DAY = "day"
    HOUR = "hour"


def look(
    city: str,
    unit: Unit,
    days: int | None = None,
    where: "list[tuple[int, float]] | str" = "",
    mode: Literal["a", 1] = "a",
    **more: dict[str, Any],
) -> bool:
    """Look up the weather,
    or not.

    Args:
        city: The city.
        unit (Unit, optional): Which unit
            of time
        days (int): How many days (choices: [1, "2 "])
        where(Place): Where
        mode: How: as usual
        more (dict[str, Any]): More

    Returns:
        bool: Whether it rains.

    Raises:
        ValueError: never
    """
    return False


def test_a_function_is_a_tool():
    tool = schema_of(look)
    assert tool["function"]["description"] == "Look up the weather,\nor not."
    assert tool["function"]["parameters"]["properties"] == {
        "city": {"type": "string", "description": "The city."},
        "unit": {"type": "string", "enum": ["day", "hour"], "description": "Which unit of time"},
        "days": {"type": "integer", "nullable": True, "enum": [1, "2"], "description": "How many days"},
        "where": {
            "anyOf": [
                {"type": "array", "items": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "number"}]}},
                {"type": "string"},
            ],
            "description": "Where",
        },
        "mode": {"type": ["string", "integer"], "enum": ["a", 1], "description": "How: as usual"},
        "more": {"type": "object", "additionalProperties": {}, "description": "More"},
    }
    assert tool["function"]["parameters"]["required"] == ["city", "unit", "more"]
    assert tool["function"]["return"] == {"type": "boolean", "description": "bool: Whether it rains."}


def schema_of(function):
    """The tool as a chat template sees it."""
    return json.loads(backchat.render("{{ tools | tojson }}", [], tools=[function]).text)[0]


def bare():
    pass


def unhinted(a):
    """Does.

    Args:
        a: A.
    """


def undescribed(a: int, b: int):
    """Does.

    Args:
        a: A.
    """


def exotic(a: Image):
    """Does.

    Args:
        a: A.
    """


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (bare, "bare has no docstring"),
        (unhinted, "`a` of the function unhinted has no type hint"),
        (undescribed, "undescribed does not describe its argument `b`"),
        (exotic, "has no JSON schema"),
    ],
)
def test_a_function_that_is_no_tool(function, problem):
    with pytest.raises(ValueError, match=problem):
        backchat.render(CHAT, [], tools=[function])


class Host:
    def of_host(self, city: str):
        """Look.

        Args:
            city (str): The city.
        """


@pytest.mark.parametrize("function", [look, Host.of_host, Host().of_host])
def test_transformers_makes_the_same_tool(function):
    utils = pytest.importorskip("transformers.utils.chat_template_utils")
    try:
        wanted = utils.get_json_schema(function)
    except utils.DocstringParsingException:
        pytest.skip("this release of transformers does not read `name (type): text`")
    assert schema_of(function) == wanted
