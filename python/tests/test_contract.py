"""The table of docs/python.md, "What the servers ask", against the servers' own sources."""

import ast
import os
import re
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("BACKCHAT_TEST_SERVERS", ""))
PAGE = Path(__file__).parents[2] / "docs" / "python.md"
ROW = re.compile(r"^\| `(?P<module>[\w.]+):(?P<name>[\w.]+)` \| `(?P<signature>\(.*\))` \|", re.MULTILINE)
ROWS = [match.groups() for match in ROW.finditer(PAGE.read_text(encoding="utf-8"))]


def signature(module, name):
    """The parameters of a function, by its source: their names, order and defaults."""
    scope = ast.parse((FOLDER / module.replace(".", "/")).with_suffix(".py").read_text(encoding="utf-8"))
    for part in name.split("."):
        scope = next(node for node in scope.body if getattr(node, "name", None) == part)
    for node in ast.walk(scope.args):
        if isinstance(node, ast.arg):
            node.annotation = None
    return f"({ast.unparse(scope.args)})"


def test_the_table_names_both_servers():
    servers = [module.partition(".")[0] for module, _, _ in ROWS]
    assert servers.count("vllm") > 10 and servers.count("sglang") > 8


@pytest.mark.skipif(FOLDER == Path(), reason="BACKCHAT_TEST_SERVERS is not set; `.ci/servers` makes its folder")
@pytest.mark.parametrize(("module", "name", "known"), ROWS)
def test_the_server_still_has_these_parameters(module, name, known):
    assert signature(module, name) == known
