"""The stubs say what the module does, and the package and the examples agree with them."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CONFIG = [
    "--mypy-config-file",
    "pyproject.toml",
    "--allowlist",
    "python/stubtest-allow.txt",
    "--ignore-unused-allowlist",
]
# Tests say nothing of their own types; that they call the module as its stubs have it is checked.
UNTYPED = ["--allow-untyped-defs", "--allow-incomplete-defs", "--allow-untyped-calls"]

pytest.importorskip("mypy")


@pytest.mark.parametrize(
    "command",
    [
        ["mypy.stubtest", *CONFIG, "backchat"],
        ["mypy", "--strict", "python/backchat", "python/examples"],
        ["mypy", "--strict", *UNTYPED, "python/tests"],
    ],
    ids=["stubtest", "mypy", "tests"],
)
def test_types(command, monkeypatch):
    monkeypatch.chdir(ROOT)
    # The package of this checkout, wherever the tests find theirs.
    monkeypatch.setenv("MYPYPATH", "python")
    told = subprocess.run([sys.executable, "-m", *command], check=False, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr
