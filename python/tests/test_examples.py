"""Runs the examples as users do, against the engine itself.

Ray and Spark start slowly, so they run where BACKCHAT_TEST_ENGINES is set; Spark needs Java.
"""

import asyncio
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import backchat
import pytest
from test_parser import MESSAGE, OUTPUT, SPEC

EXAMPLES = Path(__file__).parent.parent / "examples"
ROOT = EXAMPLES.parent.parent
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
PARAMETERS = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TOOLS = [{"type": "function", "function": {"name": "f", "description": "Does it", "parameters": PARAMETERS}}]
BAD = "~<call>nothing</call>"


def output(row):
    return OUTPUT.replace("yes", f"{row:05}")


def content(row):
    return MESSAGE["content"].replace("yes", f"{row:05}")


def needs(package, slow=False, program=None):
    """Skips with a message if an engine is not installed."""
    asked = not slow or "BACKCHAT_TEST_ENGINES" in os.environ
    if not asked:
        return pytest.mark.skip(reason=f"{package} starts slowly: set BACKCHAT_TEST_ENGINES")
    found = importlib.util.find_spec(package) and (program is None or shutil.which(program))
    return pytest.mark.skipif(not found, reason=f"needs {package}" + (f" and {program}" if program else ""))


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "template.json"
    path.write_text(json.dumps(SPEC))
    return path


def write(path, texts):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")

    texts = list(texts)
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"text": texts, "prompt": ["<bot>"] * len(texts)}), path)


def read(path):
    import pyarrow.parquet as pq

    return sorted(pq.read_table(path).to_pylist(), key=lambda row: row["text"])


def start(example, *arguments):
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "PYSPARK_PYTHON": sys.executable,
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    command = [sys.executable, str(EXAMPLES / example), *map(str, arguments)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def run(example, *arguments):
    job = start(example, *arguments)
    told, _ = job.communicate(timeout=300)
    assert job.returncode == 0, told


@pytest.mark.parametrize(
    "example",
    [
        pytest.param("datasets_map.py", marks=needs("datasets")),
        pytest.param("ray_job.py", marks=needs("ray", slow=True)),
        pytest.param("spark_job.py", marks=needs("pyspark", slow=True, program="java")),
    ],
)
def test_every_row_has_its_message_or_its_reason(example, model, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    write(tmp_path / "outputs.parquet", [*map(output, range(1000)), BAD])
    run(example, model, tmp_path / "outputs.parquet", tmp_path / "messages.parquet")
    *rows, bad = read(tmp_path / "messages.parquet")
    assert [json.loads(row["message"])["content"] for row in rows] == [*map(content, range(1000))]
    assert all(row["error"] is None for row in rows)
    assert bad["message"] is None and "tool_calls" in bad["error"]


@needs("polars")
def test_a_killed_job_resumes_where_it_stopped(model, tmp_path):
    outputs, messages = tmp_path / "outputs", tmp_path / "messages"
    parts = [f"{part:02}.parquet" for part in range(24)]
    for part in parts:
        write(outputs / part, map(output, range(3000)))
    job = start("polars_map.py", model, outputs, messages)
    until = time.monotonic() + 60
    while len(list(messages.glob("*.parquet"))) < 3 and time.monotonic() < until and job.poll() is None:
        time.sleep(0.001)
    os.killpg(job.pid, signal.SIGKILL)
    told = job.communicate()[0]
    assert job.returncode == -signal.SIGKILL, told
    before = {path.name: path.stat().st_mtime_ns for path in messages.glob("*.parquet")}
    assert 3 <= len(before) < len(parts)

    run("polars_map.py", model, outputs, messages)
    assert sorted(path.name for path in messages.iterdir()) == parts
    for name, written in before.items():
        assert (messages / name).stat().st_mtime_ns == written, f"{name} was parsed again"
    for part in parts:
        found = [json.loads(row["message"]) for row in read(messages / part)]
        assert found == [{**MESSAGE, "content": content(row)} for row in range(3000)]


@pytest.fixture
def served(model, tmp_path):
    """Serves `OUTPUT` character by character; returns the port."""
    pieces = [{"after_ms": 10, "text": character} for character in OUTPUT]
    (tmp_path / "recording.jsonl").write_text("".join(json.dumps(piece) + "\n" for piece in pieces))
    (tmp_path / "prompt.txt").write_text("<bot>")
    server = start("serve_async.py", model, tmp_path / "prompt.txt", tmp_path / "recording.jsonl", 0)
    try:
        told = server.stdout.readline()
        assert told.startswith("http://127.0.0.1:"), told + server.stdout.read()
        yield int(told.split(":")[2].split("/")[0])
    finally:
        server.kill()
        told = server.communicate()[0]
    assert "Traceback" not in told, told


async def client(port, arrived, name):
    """The lines that a client reads; `arrived` gets its name for each."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = b'{"stream": true}'
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    lines = []
    async for line in reader:
        if line.startswith(b"data: "):
            arrived.append(name)
            lines.append(line.decode().removeprefix("data: ").strip())
    writer.close()
    return lines


def test_a_server_streams_to_many_clients_at_once(served):
    arrived: list[str] = []

    async def two():
        return await asyncio.gather(*(client(served, arrived, name) for name in "ab"))

    for *lines, last in asyncio.run(asyncio.wait_for(two(), 60)):
        chunks = [json.loads(line) for line in lines]
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
        assert last == "[DONE]" and len({chunk["id"] for chunk in chunks}) == 1
        assert "".join(delta.get("reasoning_content", "") for delta in deltas) == MESSAGE["thinking"]
        assert "".join(delta.get("content", "") for delta in deltas) == MESSAGE["content"]
        calls = [call["function"] for delta in deltas for call in delta.get("tool_calls", [])]
        assert [call["name"] for call in calls if "name" in call] == ["f"]
        assert json.loads("".join(call["arguments"] for call in calls)) == {"a": 1}
        assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"
    # Neither waits for the other to end.
    for one, other in ("ab", "ba"):
        assert arrived.index(one) < len(arrived) - 1 - arrived[::-1].index(other)


def test_a_server_survives_clients_that_disconnect_or_send_invalid_data(served):
    async def talk():
        for said in (b"", b"GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"):
            _, writer = await asyncio.open_connection("127.0.0.1", served)
            writer.write(said)
            await writer.drain()
            writer.close()
        return await client(served, [], "a")

    assert asyncio.run(asyncio.wait_for(talk(), 60))[-1] == "[DONE]"


def test_a_server_answers_without_a_stream_and_knows_its_path(served):
    def ask(path, body):
        request = Request(f"http://127.0.0.1:{served}{path}", body, method="POST")
        try:
            with urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except HTTPError as error:
            return error.code, json.load(error)

    status, answer = ask("/v1/chat/completions", b"{}")
    assert status == 200 and answer["choices"][0]["message"]["content"] == MESSAGE["content"]
    assert [ask("/v1/models", b"{}")[0], ask("/v1/chat/completions", b"[]")[0]] == [404, 400]


@needs("fastapi")
@needs("uvicorn")
@needs("httpx")
def test_fastapi_serves_with_usage_errors_and_tools(tmp_path, monkeypatch):
    from fastapi.testclient import TestClient

    monkeypatch.syspath_prepend(str(EXAMPLES))
    import serve_fastapi

    pieces = [{"text": piece} for piece in (CALL[:20], CALL[20:], "<|im_end|>")]
    recording = tmp_path / "recording.jsonl"
    recording.write_text("".join(json.dumps(piece) + "\n" for piece in pieces))
    grammar = backchat.Grammar(ROOT / "chat_templates" / "hermes.jinja")
    client = TestClient(serve_fastapi.application(grammar, "<|im_start|>assistant\n", serve_fastapi.Engine(recording)))

    def ask(**asked):
        return client.post("/v1/chat/completions", json={"messages": [], "tools": TOOLS, **asked})

    answer = ask(tool_choice="required").json()
    (call,) = answer["choices"][0]["message"]["tool_calls"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("f", {"a": 1})
    assert (answer["choices"][0]["finish_reason"], answer["usage"]["completion_tokens"]) == ("tool_calls", 3)
    told = ask(stream=True, stream_options={"include_usage": True}).text.split("\n\n")
    assert told[-2:] == ["data: [DONE]", ""]
    assert json.loads(told[-3].removeprefix("data: "))["usage"]["total_tokens"] == 3
    for refused in (ask(tool_choice="g"), ask(messages="Hi")):
        assert refused.status_code == 400 and refused.json()["error"]["message"]
