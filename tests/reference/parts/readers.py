"""What each reader of response templates loads, compared with `backchat lint --target`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from .. import ours
from ..report import Difference, Result
from ..shrink import shrink
from ..suite import serving
from . import ROOT, Options
from .interfaces import refusal

Template = dict[str, Any]
#: Whether each template is refused, and in which words.
Verdicts = list[str | None]
#: The rules that report what a reader refuses: RT050, RT051, RT052.
REFUSALS = re.compile(r"RT05[012]")


def of_program(*command: str) -> Callable[[list[Template]], Verdicts]:
    """Asks a program of reference/readers."""

    def ask(templates: list[Template]) -> Verdicts:
        rows = "".join(
            json.dumps({"id": number, "template": template}) + "\n" for number, template in enumerate(templates)
        )
        run = subprocess.run(command, input=rows, capture_output=True, text=True, check=False, timeout=300)
        answers = [json.loads(line)["refused"] for line in run.stdout.splitlines()]
        if len(answers) != len(templates):
            raise RuntimeError(f"{command[0]} answered {len(answers)} of {len(templates)} rows: {run.stderr[-500:]}")
        return answers

    return ask


def readers(options: Options) -> dict[str, Callable[[list[Template]], Verdicts]]:
    """How to ask each reader, by its name for `--target`."""
    python = [sys.executable, "-m", "reference.readers.server"]
    built = options.folder / "readers"
    return {
        "transformers": lambda templates: [refusal(template) or None for template in templates],
        "vllm-python": of_program(*python, "vllm", str(options.sources)),
        "vllm-rust": of_program(str(built / "vllm_rust" / "target" / "debug" / "loads-vllm-rust")),
        "sglang": of_program(*python, "sglang", str(options.sources)),
        "smg": of_program(str(built / "smg" / "target" / "debug" / "loads-smg")),
    }


def lint(options: Options, target: str, templates: list[Template]) -> Verdicts:
    """The same from `backchat lint --target`; raises if it does not know the target."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.json") for number in range(len(templates))]
        for file, template in zip(files, templates, strict=True):
            file.write_text(json.dumps(template), encoding="utf-8")
        run = ours.run(options.binary, "lint", "--target", target, "--format", "json", *map(str, files))
        if not run.stdout.strip():
            raise LookupError(run.stderr.strip().splitlines()[0])
        said: dict[str, str] = {}
        for found in json.loads(run.stdout)["diagnostics"]:
            # A template that does not load at all has errors without a rule.
            is_refusal = REFUSALS.fullmatch(found.get("id") or "") or not re.match("RT|SC|CT", found.get("id") or "")
            if is_refusal and found["severity"] == "error":
                said.setdefault(found["file"], found["message"])
        return [said.get(str(file)) for file in files]


def disagree(theirs: str | None, ours: str | None) -> str | None:
    if theirs is not None and ours is None:
        return "it refuses what `lint` passes"
    return "`lint` refuses what it loads" if theirs is None and ours is not None else None


def feature(words: str) -> str:
    """The words of a refusal without what they quote, so that refusals for one reason count as one."""
    return re.sub(r"""(['"`]).*?\1|\[.*?\]|\d+|:.*""", "…", words)[:60]


def differences(
    reader: str, ask: Callable[[list[Template]], Verdicts], options: Options, templates: list[Template]
) -> Iterator[Difference]:
    """One difference for each way in which reader and `lint` disagree, at its smallest template."""
    try:
        ours = lint(options, reader, templates)
    except LookupError as error:
        yield Difference(f"reader {reader}", f"`lint` does not know it: {error}")
        return
    ways: dict[tuple[str, str], list[Template]] = defaultdict(list)
    for template, theirs, our in zip(templates, ask(templates), ours, strict=True):
        if kind := disagree(theirs, our):
            ways[kind, feature(theirs or our or "")].append(template)

    for (kind, words), found in ways.items():

        def holds(template: Any, kind: str = kind, words: str = words) -> bool:
            if not isinstance(template, dict):
                return False
            theirs, our = ask([template])[0], lint(options, reader, [template])[0]
            return disagree(theirs, our) == kind and feature(theirs or our or "") == words

        smallest = shrink(min(found, key=lambda each: len(json.dumps(each))), holds, checks=60)
        theirs, our = ask([smallest])[0], lint(options, reader, [smallest])[0]
        example = json.dumps(smallest, ensure_ascii=False)
        yield Difference(
            f"reader {reader}", f"{kind} ({len(found)} templates)", example, theirs or "loads", our or "passes"
        )


def run(options: Options) -> Result:
    os.environ["PYTHONPATH"] = str(ROOT / "tests")
    drafts = [json.loads(file.read_text(encoding="utf-8")) for file in sorted((ROOT / "derived").glob("*.json"))]
    generated = [serving.template(Random(f"{options.seed} serving {number}")) for number in range(options.count * 8)]
    asked = readers(options)
    result = Result(
        f"{len(drafts)} drafts and {len(generated)} generated templates, seed {options.seed}, in {', '.join(asked)}."
    )
    for reader, ask in asked.items():
        try:
            result.differences += differences(reader, ask, options, drafts + generated)
        except Exception as error:  # noqa: BLE001
            result.failures.append(f"{reader}: {type(error).__name__}: {error}")
    return result
