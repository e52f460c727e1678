"""A tokenizer's chat template and special tokens, and the response template and grammars derived from them."""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

import backchat
from backchat import _backchat
from backchat.integrations._spec import spec_of

logger = logging.getLogger("backchat")

#: The environment variable with recovery policies, as in `recover`.
RECOVER = "BACKCHAT_RECOVER"

#: The policies that change answers in the model's own format, by response template.
_refused: dict[str, list[str]] = {}


class NotProved(ValueError):
    """The derived response template does not parse every conversation back. `derivation` has the counterexamples."""

    def __init__(self, derivation: backchat.Derivation) -> None:
        super().__init__(derivation)
        self.derivation = derivation

    def __str__(self) -> str:
        return f"the derived response template is {self.derivation.status}: {_why(self.derivation)}"


def _why(derivation: backchat.Derivation) -> str:
    if derivation.failures:
        return (
            f"{derivation.proved} of {derivation.total} generated conversations parse back exactly; "
            f"first failure: {derivation.failures[0]}"
        )
    return "; ".join(problem["message"] for problem in derivation.diagnostics) or "nothing was proved"


def chat_template_of(tokenizer: Any, *, for_tools: bool = True) -> str | None:
    """The text of a tokenizer's chat template: if it has several, the one for conversations with or without tools."""
    chat_template = getattr(tokenizer, "chat_template", None)
    if isinstance(chat_template, dict):
        chat_template = (for_tools and chat_template.get("tool_use")) or chat_template.get("default")
    if not isinstance(chat_template, str) or not chat_template:
        return None
    # A text without Jinja syntax must not be taken for the name of a file.
    return chat_template if "{" in chat_template else f"{chat_template}\n"


def variables_of(tokenizer: Any) -> dict[str, str]:
    """The special tokens by their names in chat templates."""
    tokens = getattr(tokenizer, "special_tokens_map", None) or {}
    return {name: token for name, token in tokens.items() if isinstance(token, str)}


def template_of(tokenizer: Any) -> dict[str, Any] | None:
    """The response template stored with a tokenizer, where vLLM and SGLang look for it."""
    stored = getattr(tokenizer, "response_template", None)
    if not isinstance(stored, dict):
        stored = (getattr(tokenizer, "init_kwargs", None) or {}).get("response_template")
    return stored if isinstance(stored, dict) else None


def prepare(tokenizer: Any, target: str) -> None:
    """Set the derived response template on a tokenizer without one, if it is proved."""
    if tokenizer is None or template_of(tokenizer) is not None:
        return
    chat_template = chat_template_of(tokenizer)
    if chat_template is None:
        raise ValueError("the model has neither a response template nor a chat template to derive one from")
    found = _derived(chat_template, _frozen(variables_of(tokenizer)), target)
    tokenizer.response_template = json.loads(found)


def leave_out(tokenizer: Any, template: Any) -> None:
    """Find the policies that change answers in the template's own format: `recover_of` leaves them out."""
    chat_template, key = chat_template_of(tokenizer), _key(template)
    if not os.environ.get(RECOVER) or chat_template is None or key in _refused:
        return
    proof = backchat.prove(spec_of(template), chat_template, variables=variables_of(tokenizer))
    _refused[key] = [found["policy"] for found in proof.report["verification"]["policies"]["refused"]]
    if _refused[key]:
        logger.warning("left out, because they change answers in this model's own format: %s", ", ".join(_refused[key]))


def recover_of(template: Any) -> str | None:
    """The policies in `BACKCHAT_RECOVER`, except those that `leave_out` found for the template."""
    asked = os.environ.get(RECOVER)
    return asked and ",".join([asked, *(f"-{name}" for name in _refused.get(_key(template), []))])


def _key(template: Any) -> str:
    spec = spec_of(template)
    return json.dumps(spec) if isinstance(spec, dict) else str(spec)


def grammar_of(tokenizer: Any, template: dict[str, Any]) -> backchat.Grammar:
    """The grammars of a model, built for the first request and cached."""
    return _grammar(chat_template_of(tokenizer), _frozen(variables_of(tokenizer)), json.dumps(template))


def _frozen(variables: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(variables.items()))


@functools.lru_cache(maxsize=8)
def _grammar(chat_template: str | None, variables: tuple[tuple[str, str], ...], template: str) -> backchat.Grammar:
    known = backchat.Template(template)
    if chat_template is None:
        return backchat.Grammar(known)
    return backchat.Grammar(chat_template, response_template=known, variables=dict(variables))


@functools.lru_cache(maxsize=8)
def _derived(chat_template: str, variables: tuple[tuple[str, str], ...], target: str) -> str:
    """The derived template as JSON, cached on disk for the next start and for a server's other processes."""
    binary = os.stat(_backchat.__file__)
    asked = [binary.st_size, binary.st_mtime_ns, target, variables, chat_template]
    path = _cache() / (hashlib.sha256(json.dumps(asked).encode()).hexdigest() + ".json")
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        derivation = backchat.derive(chat_template, variables=dict(variables), target=target)
        if derivation.status != "proved" or derivation.response_template is None:
            raise NotProved(derivation) from None
        kept = {"response_template": derivation.response_template, "report": _report(derivation)}
        _keep(path, json.dumps(kept))
    logger.warning("%s", kept["report"])
    return json.dumps(kept["response_template"])


def _report(derivation: backchat.Derivation) -> str:
    lost = "; ".join(loss["message"] for loss in derivation.report["verification"]["losses"])
    return (
        "the model has no response template; serving with the one derived from its chat template: "
        f"{derivation.proved} of {derivation.total} generated conversations parse back exactly; "
        f"the format loses {lost or 'nothing'}"
    )


def _cache() -> Path:
    """The folder of derived templates: `BACKCHAT_CACHE`, or the user's cache."""
    if own := os.environ.get("BACKCHAT_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "backchat"


def _keep(path: Path, text: str) -> None:
    """Write a file atomically. If the folder cannot be written, the next start derives again."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
            file.write(text)
        os.replace(file.name, path)
    except OSError as error:
        logger.info("the derived response template is not cached: %s", error)
