"""Response templates: parse what chat models write, derive the templates from chat templates, and prove them.

>>> import backchat
>>> template = {"start_anchor": "[bot]", "fields": {"content": {"close": "<end>"}}}
>>> backchat.parse_response("Hello<end>", template, prefix="[bot]")
{'content': 'Hello'}
"""

from backchat._backchat import ResponseParser, Template, parse_batch, parse_response

_LAZY = {
    **dict.fromkeys(("astream", "openai_chunks", "stream"), "_stream"),
    **dict.fromkeys(
        (
            "add_generation_blocks check convert derive doctor grammar lint mask prove render unrender"
        ).split(),
        "_workbench",
    ),
    **dict.fromkeys(
        (
            "BatchResult Chat CheckReport Conversion Derivation Diagnostic Held Masked ParseError Patched Proof "
            "Rendered TemplateError UnknownKey"
        ).split(),
        "_types",
    ),
}

__all__ = ["ResponseParser", "Template", "parse_batch", "parse_response", *_LAZY]


def __getattr__(name: str):
    """Import the rest where it is used: who only parses starts faster."""
    if name == "__version__":
        from importlib.metadata import version

        return version("backchat")
    if name not in _LAZY:
        raise AttributeError(f"module 'backchat' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"backchat.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
