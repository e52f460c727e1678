"""The renderer, compared with transformers': the project's chat templates, and the table of the dialect."""

from __future__ import annotations

import datetime
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import jinja2
from transformers.utils import chat_template_utils

from .. import ours
from ..report import Difference, Result
from ..shrink import shrink
from ..suite.chats import conversation
from . import ROOT, Options

NOW = datetime.datetime(2026, 11, 20, 8, 0, 0)


class Clock(datetime.datetime):
    """The clock that both renderers see."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Clock:
        return cls(*NOW.timetuple()[:6])


def theirs(source: str, context: dict[str, Any]) -> dict[str, Any]:
    """What transformers renders: the text and the spans of generation blocks, or how it failed."""
    arguments = dict(context)
    messages = arguments.pop("messages")
    try:
        texts, spans = chat_template_utils.render_jinja_template(
            conversations=[messages], chat_template=source, return_assistant_tokens_mask=True, **arguments
        )
        return {"text": texts[0], "assistant_spans": [list(span) for span in spans[0]]}
    except jinja2.exceptions.TemplateError as error:
        return {"error": f"{type(error).__name__}: {error}", "raised": type(error) is jinja2.exceptions.TemplateError}
    except Exception as error:  # noqa: BLE001
        return {"error": f"{type(error).__name__}: {error}", "raised": False}


def difference(theirs: dict[str, Any], ours: dict[str, Any]) -> str | None:
    """The kind of the difference: two errors agree, and so must the message that a template itself raises."""
    if "error" in theirs or "error" in ours:
        if "error" in theirs and "error" in ours:
            message = theirs["error"].partition(": ")[2]
            return "another error" if theirs["raised"] and message not in json.dumps(ours, ensure_ascii=False) else None
        return "an error" if "error" in ours else "no error"
    if theirs["text"] != ours["text"]:
        return "another text"
    return None if theirs["assistant_spans"] == ours["assistant_spans"] else "other spans of generation blocks"


class Renderers:
    """Both renderers, for one chat template after another."""

    def __init__(self, options: Options, folder: Path):
        self.ours = ours.Renders(options.binary, folder)

    def open(self, source: str) -> None:
        self.source = source
        self.ours.open(source)

    def ask(self, context: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        return theirs(self.source, context), self.ours.render(context, now=NOW.isoformat())

    def shown(self, name: str, kind: str, context: dict[str, Any]) -> Difference:
        """The difference at the smallest conversation that has it."""

        def holds(context: dict[str, Any]) -> bool:
            return isinstance(context.get("messages"), list) and difference(*self.ask(context)) == kind

        context = shrink(context, holds, checks=1500)
        their, our = self.ask(context)
        key = "text" if kind == "another text" else "assistant_spans" if "spans" in kind else "error"
        show = [json.dumps(answer.get(key, answer.get("text")), ensure_ascii=False) for answer in (their, our)]
        return Difference(f"chat_templates/{name}.jinja", kind, json.dumps(context, ensure_ascii=False), *show)


def sources(options: Options) -> Iterator[tuple[str, str]]:
    """Every chat template of the project, as it is and with generation blocks, if they can be added."""
    for path in sorted((ROOT / "chat_templates").glob("*.jinja")):
        yield path.stem, path.read_text(encoding="utf-8")
        patched = ours.run(options.binary, "fix", "--generation", str(path))
        if patched.returncode == 0:
            yield f"{path.stem} with generation blocks", patched.stdout


def conversations(renderers: Renderers, options: Options, result: Result) -> int:
    """Renders every template over the same conversations; returns how many renders that were."""
    contexts = [conversation(Random(f"{options.seed} chat {number}")) for number in range(options.count)]
    renders = 0
    for name, source in sources(options):
        renderers.open(source)
        seen = set()
        for context in contexts:
            renders += 1
            kind = difference(*renderers.ask(context))
            if kind is not None and kind not in seen:
                seen.add(kind)
                result.differences.append(renderers.shown(name, kind, context))
    return renders


def dialect(renderers: Renderers, result: Result) -> int:
    """Renders the table of the dialect, in which each row is a template of its own."""
    folder = ROOT / "tests" / "inputs" / "dialect"
    context = (folder / "context.json").read_text(encoding="utf-8")
    rows = 0
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            rows += 1
            source = json.loads(line)["template"]
            renderers.open(source)
            their, our = renderers.ask(json.loads(context))
            if kind := difference(their, our):
                show = [
                    json.dumps(answer.get("text", answer.get("error")), ensure_ascii=False) for answer in (their, our)
                ]
                result.differences.append(Difference(f"the dialect: {path.stem}", kind, source, *show))
    return rows


def run(options: Options) -> Result:
    chat_template_utils.datetime = Clock
    result = Result("")
    with tempfile.TemporaryDirectory() as folder:
        renderers = Renderers(options, Path(folder))
        renders = conversations(renderers, options, result)
        rows = dialect(renderers, result)
        renderers.ours.close()
    result.asked = (
        f"{renders:,} renders of chat_templates/, seed {options.seed}, and {rows:,} templates of the dialect."
    )
    return result
