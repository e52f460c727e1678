"""The examples, each run as its user runs it, against the engine itself.

Ray and Spark start slowly, so they run where BACKCHAT_TEST_ENGINES is set; Spark needs Java.
"""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_parser import MESSAGE, OUTPUT, SPEC

EXAMPLES = Path(__file__).parent.parent / "examples"
BAD = "~<call>nothing</call>"


def output(row):
    return OUTPUT.replace("yes", f"{row:05}")


def content(row):
    return MESSAGE["content"].replace("yes", f"{row:05}")


pytest.importorskip("pyarrow")


def needs(package, slow=False, program=None):
    """Skips, and says so, where an engine is not there."""
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
    import pyarrow as pa
    import pyarrow.parquet as pq

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
def test_a_job_that_was_killed_goes_on_where_it_stopped(model, tmp_path):
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
