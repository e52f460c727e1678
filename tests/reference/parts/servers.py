"""The tests of the plug-ins inside vLLM, SGLang and mlx-lm, which `.ci/run` runs with the tested releases."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from ..report import Difference, Result
from . import ROOT, Options

TESTS = [
    "test_servers.py",
    "test_contract.py",
    "test_openai.py",
    "test_clients.py",
    "test_transformers.py",
    "test_renderers.py",
    "test_mlx_lm.py",
]


def run(options: Options) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--junitxml",
            str(report),
            *(f"python/tests/{test}" for test in TESTS),
        ]
        environment = {**os.environ, "BACKCHAT_TEST_SERVERS": str(options.sources)}
        pytest = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if not report.exists():
            return Result("", failures=[f"pytest: {pytest.stdout[-300:]}{pytest.stderr[-300:]}"])
        suite = next(ElementTree.parse(report).iter("testsuite"))
    result = Result(f"{suite.get('tests')} tests in the servers' own code, {suite.get('skipped')} skipped.")
    for case in suite.iter("testcase"):
        where = f"{case.get('classname', '').rpartition('.')[2]}: {case.get('name')}"
        for failed in (*case.iter("failure"), *case.iter("error")):
            lines = [line for line in (failed.text or "").splitlines() if re.match(r"E  |AssertionError", line)]
            result.differences.append(Difference(where, "fails", "\n".join(lines[:8]) or (failed.text or "")[-600:]))
        for skipped in case.iter("skipped"):
            result.notes.append(f"{where} is skipped: {skipped.get('message')}")
    return result
