"""The ways in which vLLM loads the plug-in: its entry point, or a module's name on the command line."""

import importlib
import sys
from importlib.metadata import entry_points
from types import ModuleType, SimpleNamespace

import pytest

MODULE = "backchat.integrations.vllm"


class Manager:
    """Both of vLLM's managers, which import a parser only if it is selected."""

    def __init__(self):
        self.lazy_parsers: dict[str, tuple[str, str]] = {}

    def register_lazy_module(self, name, module_path, class_name):
        self.lazy_parsers[name] = (module_path, class_name)


@pytest.fixture
def vllm(monkeypatch):
    """A vLLM that has loaded its managers; returns their registries."""
    tools, reasoning = Manager(), Manager()
    monkeypatch.setitem(sys.modules, "vllm", ModuleType("vllm"))
    monkeypatch.setitem(sys.modules, "vllm.tool_parsers", SimpleNamespace(ToolParserManager=tools))
    monkeypatch.setitem(sys.modules, "vllm.reasoning", SimpleNamespace(ReasoningParserManager=reasoning))
    return tools.lazy_parsers, reasoning.lazy_parsers


@pytest.fixture
def forgotten(monkeypatch):
    """Simulates a process that has not imported the plug-in."""
    monkeypatch.delitem(sys.modules, MODULE, raising=False)


KNOWN = (
    {"backchat": ("backchat.integrations._vllm", "ToolParser")},
    {"backchat": ("backchat.integrations._vllm", "ReasoningParser")},
)


def test_a_module_named_on_the_command_line_registers_itself(vllm, forgotten):
    importlib.import_module(MODULE)
    assert vllm == KNOWN


@pytest.mark.usefixtures("forgotten")
def test_vllm_is_not_imported_early():
    importlib.import_module(MODULE)
    assert not any(name == "vllm" or name.startswith("vllm.") for name in sys.modules)


def test_the_entry_point_registers(vllm):
    (plugin,) = entry_points(group="vllm.general_plugins", name="backchat")
    plugin.load()()
    assert vllm == KNOWN
