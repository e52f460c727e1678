"""The stubs match the module, and the package and the examples match the stubs."""

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
# Tests have no type annotations, but their calls of the module are checked against its stubs.
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
    # The package of this checkout, even if the tests import another.
    monkeypatch.setenv("MYPYPATH", "python")
    told = subprocess.run([sys.executable, "-m", *command], check=False, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr
