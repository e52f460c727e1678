"""Response templates: parse what chat models write, derive the templates from chat templates, and prove them.

>>> import backchat
>>> template = {"start_anchor": "[bot]", "fields": {"content": {"close": "<end>"}}}
>>> backchat.parse_response("Hello<end>", template, prefix="[bot]")
{'content': 'Hello'}
"""

from backchat._backchat import Grammar, ResponseParser, Template, Tokenizer, parse_batch, parse_response

#: Names that are imported on first use, by module.
_MODULES = {
    "_tokens": "Bridge Bridged Refused",
    "_stream": "aopenai_chunks astream openai_chunks openai_completion stream",
    "_workbench": "add_generation_blocks check convert derive doctor fix grammar input_schema lint mask prove render "
    "unrender",
    "_types": "BatchResult Chat CheckReport Conversion Derivation Diagnostic Held Masked Message ParseError Patched Proof "
    "Rendered Repair TemplateError UnknownKey",
}
_LAZY = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = ["Grammar", "ResponseParser", "Template", "Tokenizer", "parse_batch", "parse_response", *_LAZY]  # noqa: PLE0604


def __getattr__(name: str):
    """Import the rest on first use: a program that only parses starts faster."""
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
