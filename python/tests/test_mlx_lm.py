"""The adapter in mlx-lm's own server, on the CPU, with models that write what they are asked for."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

import pytest

mx = pytest.importorskip("mlx.core")
pytest.importorskip("mlx_lm")

HERE = Path(__file__).parent
sys.path.append(str(HERE / "served"))
from models import ARGUMENTS, CALL, CHAT_TEMPLATES, TOOLS, ByteTokenizer, Model

#: Formats that mlx-lm's own list has, and some that it has not.
FORMATS = ["qwen3", "glm_4_6", "mistral_small_3_2", "granite_3_3", "seed_oss", "deepseek_v3", "command_r7b"]


class Served(NamedTuple):
    model: Model
    #: What it writes with a call.
    text: str
    #: How many tokens lead into the first argument.
    leads: int
    port: int = 0


def asks(text):
    return [{"role": "user", "content": f"say:{text.encode().hex()}"}]


def write_model(folder, name):
    """A model folder as mlx-lm loads it."""
    model = Model(CHAT_TEMPLATES / f"{name}.jinja")
    text = model.writes(tool_calls=[CALL])
    assert text is not None
    stop = model.stops[0].rstrip()
    prompt = model._render(asks(""), add_generation_prompt=True)
    tokenizer = ByteTokenizer(model, text + stop)
    (folder / "tokenizer.json").write_text(tokenizer.backend_tokenizer.to_str(), encoding="utf-8")
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": stop}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "chat_template.jinja").write_text(model.chat_template, encoding="utf-8")
    config = {
        "model_type": "scripted",
        "model_file": "scripted.py",
        "vocab_size": tokenizer.size,
        "eos_token_id": tokenizer.encode(stop)[0],
        "opening": prompt[prompt.rindex("say:") + len("say:") :],
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    mx.save_safetensors(str(folder / "model.safetensors"), {"weight": mx.zeros((1,))})
    shutil.copy(HERE / "mlx_model/scripted.py", folder)
    return Served(model, text, len(tokenizer.encode(text.partition("slo")[0])))


@pytest.fixture(scope="module", params=FORMATS)
def served(request, tmp_path_factory):
    """A model in the server."""
    folder = tmp_path_factory.mktemp(request.param)
    made = write_model(folder, request.param)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "backchat.integrations.mlx_lm", "--model", str(folder), "--trust-remote-code"]
    environment = {**os.environ, "BACKCHAT_CACHE": str(folder / "cache"), "HF_HUB_OFFLINE": "1"}
    with (folder / "log").open("w") as log:
        server = subprocess.Popen([*command, "--port", str(port)], env=environment, stdout=log, stderr=log)
    try:
        for _ in range(300):
            assert server.poll() is None, (folder / "log").read_text()
            try:
                HTTPConnection("127.0.0.1", port, timeout=5).request("GET", "/health")
                break
            except OSError:
                time.sleep(0.1)
        yield made._replace(port=port)
    finally:
        server.kill()
        server.wait()


def answer(port, **body):
    """The message and the end of an answer; a streamed one is put together."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    body = {"max_tokens": 2000, **body}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read().decode()
    assert response.status == 200, text
    if not body.get("stream"):
        choice = json.loads(text)["choices"][0]
        return choice["message"], choice["finish_reason"], 1
    chunks = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    message, ending = {"content": "", "reasoning": "", "tool_calls": []}, None
    for choice in (chunk["choices"][0] for chunk in chunks):
        for name, more in choice["delta"].items():
            message[name] = more if name == "role" else message[name] + more
        ending = choice["finish_reason"] or ending
    return message, ending, len(chunks)


def calls_of(message):
    return [
        (call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in message.get("tool_calls") or ()
    ]


#: Without a seed requests are served as a batch, with one singly.
@pytest.mark.parametrize("options", [{}, {"seed": 1}], ids=["batch", "single"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_call_and_its_reasoning_are_read(served, stream, options):
    text = served.text
    message, ending, chunks = answer(served.port, messages=asks(text), tools=TOOLS, stream=stream, **options)
    assert calls_of(message) == [("get_weather", ARGUMENTS)]
    assert ending == "tool_calls"
    reasons = "Look it up." in text
    assert (message.get("reasoning") or "").strip() == ("Look it up." if reasons else "")
    assert not (message["content"] or "").strip()
    # Reasoning arrives as it is written.
    assert not (stream and reasons) or chunks >= len("Look it up.")


def test_words_that_end_the_answer_are_left_out(served):
    text = served.model.writes(content="Mild, and dry.") or "Mild, and dry."
    for stream in (False, True):
        message, ending, _ = answer(served.port, messages=asks(text), stop=[", and"], stream=stream)
        assert ((message["content"] or "").strip(), ending) == ("Mild", "stop")


def test_a_call_that_the_limit_cuts_off_is_dropped(served):
    for stream in (False, True):
        asked = {"messages": asks(served.text), "tools": TOOLS, "stream": stream}
        message, ending, _ = answer(served.port, **asked, max_tokens=served.leads)
        assert (calls_of(message), ending, (message["content"] or "").strip()) == ([], "length", "")


def test_a_broken_call_is_content(served):
    broken = served.text.replace('"days": 1', '"days": ,')
    if broken == served.text:
        pytest.skip("the format has no JSON that could break")
    message, ending, _ = answer(served.port, messages=asks(broken), tools=TOOLS)
    assert (calls_of(message), ending) == ([], "stop")
    assert '"days": ,' in message["content"]
