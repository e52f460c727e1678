"""The clients of three APIs, with `backchat serve` between them and an engine that answers as a script says."""

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CITIES = ["Oslo", 'Rome "é" 東京']
CALL = '<tool_call>\n{{"name": "get_weather", "arguments": {}}}\n</tool_call>'
CALLS = "\n".join(CALL.format(json.dumps({"city": city}, ensure_ascii=False)) for city in CITIES)
#: What the model writes before it has results, and after.
ASKS = f"<think>\nLook it up.\n</think>\n\n{CALLS}"
ANSWER = "It is 5 degrees."
CONCLUDES = f"<think>\nGot it.\n</think>\n\n{ANSWER}"
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
NAMED = {"name": "get_weather", "description": "The weather of a city"}
USER = [{"role": "user", "content": "Weather?"}]


class Engine(BaseHTTPRequestHandler):
    """vLLM's completions, three characters per event."""

    def do_GET(self):
        answers = {"/version": {"version": "0.33.0"}, "/v1/models": {"data": [{"id": "m", "max_model_len": 4096}]}}
        self.send_response(200 if self.path in answers else 404)
        body = json.dumps(answers.get(self.path, {})).encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        prompt = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["prompt"]
        text = CONCLUDES if "<tool_response>" in prompt else ASKS
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for at in range(0, len(text), 3):
            ending = "stop" if at + 3 >= len(text) else None
            choice = {"index": 0, "text": text[at : at + 3], "finish_reason": ending}
            self.wfile.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def address():
    engine = ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    threading.Thread(target=engine.serve_forever, daemon=True).start()
    upstream = f"http://127.0.0.1:{engine.server_port}"
    command = [sys.executable, "-m", "backchat", "serve", str(ROOT / "chat_templates/qwen3.jinja")]
    with subprocess.Popen(
        [*command, "--upstream", upstream, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as serve:
        assert serve.stdout is not None
        try:
            yield serve.stdout.readline().strip().removesuffix("/v1")
        finally:
            serve.kill()
            engine.shutdown()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_openai_chat(address, stream):
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)
    tools = [{"type": "function", "function": {**NAMED, "parameters": PARAMETERS}}]

    def ask(messages):
        options = {"model": "m", "messages": messages, "tools": tools}
        if not stream:
            return client.chat.completions.create(**options).choices[0].message
        with client.chat.completions.stream(**options) as events:
            return events.get_final_completion().choices[0].message

    message = ask(USER)
    assert [json.loads(call.function.arguments)["city"] for call in message.tool_calls] == CITIES
    results = [{"role": "tool", "tool_call_id": call.id, "content": "5"} for call in message.tool_calls]
    assert ask([*USER, message.model_dump(exclude_none=True), *results]).content == ANSWER


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_openai_responses(address, stream):
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)
    tools = [{"type": "function", **NAMED, "parameters": PARAMETERS, "strict": False}]

    def ask(items):
        options = {"model": "m", "input": items, "tools": tools, "store": False}
        if not stream:
            return client.responses.create(**options)
        with client.responses.stream(**options) as events:
            return events.get_final_response()

    response = ask(USER)
    calls = [item for item in response.output if item.type == "function_call"]
    assert [json.loads(call.arguments)["city"] for call in calls] == CITIES
    assert [item.content[0].text for item in response.output if item.type == "reasoning"] == ["Look it up."]
    results = [{"type": "function_call_output", "call_id": call.call_id, "output": "5"} for call in calls]
    said = [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]
    assert ask([*USER, *said, *results]).output_text == ANSWER


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_anthropic_messages(address, stream):
    anthropic = pytest.importorskip("anthropic")
    client = anthropic.Anthropic(base_url=address, api_key="none", max_retries=0)
    tools = [{**NAMED, "input_schema": PARAMETERS}]

    def ask(messages):
        options = {"model": "m", "max_tokens": 500, "messages": messages, "tools": tools}
        if not stream:
            return client.messages.create(**options)
        with client.messages.stream(**options) as events:
            return events.get_final_message()

    message = ask(USER)
    calls = [part for part in message.content if part.type == "tool_use"]
    assert [call.input["city"] for call in calls] == CITIES
    assert message.stop_reason == "tool_use"
    assert [part.thinking for part in message.content if part.type == "thinking"] == ["Look it up."]
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": "5"} for call in calls]
    said = [part.model_dump(exclude_none=True) for part in message.content]
    turns = [*USER, {"role": "assistant", "content": said}, {"role": "user", "content": results}]
    assert [part.text for part in ask(turns).content if part.type == "text"] == [ANSWER]


@pytest.mark.parametrize("responses", [False, True], ids=["chat", "responses"])
def test_langchain(address, responses):
    langchain = pytest.importorskip("langchain_openai")
    model = langchain.ChatOpenAI(
        model="m",
        base_url=f"{address}/v1",
        api_key="none",
        max_retries=0,
        use_responses_api=responses,
        store=False if responses else None,
    )
    tools = [{"type": "function", "function": {**NAMED, "parameters": PARAMETERS}}]
    bound = model.bind_tools(tools)
    message = bound.invoke("Weather?")
    assert [call["args"]["city"] for call in message.tool_calls] == CITIES
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "5"} for call in message.tool_calls]
    assert bound.invoke([*USER, message, *results]).text == ANSWER


@pytest.mark.parametrize("responses", [False, True], ids=["chat", "responses"])
def test_pydantic_ai(address, responses):
    pydantic_ai = pytest.importorskip("pydantic_ai")
    models = pytest.importorskip("pydantic_ai.models.openai")
    provider = pytest.importorskip("pydantic_ai.providers.openai").OpenAIProvider(
        base_url=f"{address}/v1", api_key="none"
    )
    made = models.OpenAIResponsesModel if responses else models.OpenAIChatModel
    settings = {"openai_store": False} if responses else None
    asked = []

    def get_weather(city: str) -> str:
        """The weather of a city."""
        asked.append(city)
        return "5"

    agent = pydantic_ai.Agent(made("m", provider=provider), model_settings=settings, tools=[get_weather])
    assert agent.run_sync("Weather?").output == ANSWER
    assert sorted(asked) == sorted(CITIES)
