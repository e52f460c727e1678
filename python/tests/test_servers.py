"""Backchat inside the servers' own code, from the folder `BACKCHAT_TEST_SERVERS` that `.ci/servers` fills."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

FOLDER = os.environ.get("BACKCHAT_TEST_SERVERS", "")
ROOT = Path(__file__).parents[2]
CASES = Path(__file__).parent / "served"
#: Cases that the server's own contract rules out: SGLang sees no closer that looks at text behind it.
KNOWN = {"sglang": {"lfm_2_5, streams"}}

pytestmark = pytest.mark.skipif(not FOLDER, reason="BACKCHAT_TEST_SERVERS is not set; `.ci/servers` makes its folder")


@pytest.mark.parametrize("server", ["vllm", "sglang"])
def test_every_model_starts_streams_and_is_constrained(server, tmp_path):
    environment = {**os.environ, "BACKCHAT_CACHE": str(tmp_path)}
    command = [sys.executable, str(CASES / f"{server}_cases.py"), FOLDER]
    run = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    failed = [line for line in run.stderr.splitlines() if line.partition(": ")[0] not in KNOWN.get(server, ())]
    failed = [line for line in failed if re.match(r"\w+, \w+: ", line)]
    assert not failed, "\n".join(failed)
    counts = Counter(run.stdout.split())
    assert counts["streams"] == counts["constrains"] >= 30, counts
    # SGLang passes only text to its parsers.
    assert counts["kept"] >= (150 if server == "vllm" else 0), counts
    assert counts["ids"] == counts["misled"] >= (10 if server == "vllm" else 0), counts


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not on the PATH")
@pytest.mark.parametrize("server", ["vllm", "sglang"])
def test_the_requests_of_the_docs_are_constrained_by_their_tag_alone(server, tmp_path):
    xgrammar = pytest.importorskip("xgrammar")
    page = (ROOT / "docs/grammar.md").read_text(encoding="utf-8")
    files = {name: json.loads(text) for name, text in re.findall(r"(?ms)^```json (\S+)\n(.*?)^```$", page)}
    # Every member that would make a server add constraints.
    for tool in files["tools.json"]:
        tool["function"]["strict"] = True
    request = files["request.json"] | {
        "tools": files["tools.json"],
        "tool_choice": "required",
        "parallel_tool_calls": False,
    }
    (tmp_path / "request.json").write_text(json.dumps(request), encoding="utf-8")
    (tmp_path / "curl").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "curl").chmod(0o755)
    path = os.pathsep.join([str(tmp_path), str(Path(sys.executable).parent), os.environ["PATH"]])
    run = partial(subprocess.run, check=True, cwd=tmp_path, env={**os.environ, "PATH": path}, timeout=300)
    (asks,) = re.findall(r"(?m)^\$ (backchat grammar .* -o tag.json)$", page)
    run(asks.replace("chat_templates/", f"{ROOT}/chat_templates/"), shell=True)
    (sends,) = [snippet for snippet in re.findall(r"(?ms)^```sh\n(.*?)^```$", page) if "vllm.json" in snippet]
    run(sends, shell=True)
    command = [sys.executable, str(CASES / f"{server}_pasted.py"), FOLDER, f"{server}.json"]
    used = run(command, stdout=subprocess.PIPE, text=True).stdout
    tag = (tmp_path / "tag.json").read_text(encoding="utf-8")
    assert str(xgrammar.Grammar.from_structural_tag(used)) == str(xgrammar.Grammar.from_structural_tag(tag))
