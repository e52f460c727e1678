"""Backchat inside the code of the servers that use it: `BACKCHAT_TEST_SERVERS` names the folder that `.ci/servers` fills."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

FOLDER = os.environ.get("BACKCHAT_TEST_SERVERS", "")
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
    failed = [line for line in failed if ", streams: " in line or ", constrains: " in line]
    assert not failed, "\n".join(failed)
    counts = Counter(run.stdout.split())
    assert counts["streams"] == counts["constrains"] >= 30, counts
