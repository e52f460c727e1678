"""The command of `.ci/newest`: fetches what the parts need, runs each in a process of its own, and reports."""

from __future__ import annotations

import argparse
import datetime
import os
import subprocess
import sys
from pathlib import Path

from . import packages, process, report
from .parts import ROOT, Options

#: What the servers' parsers and the plug-ins' tests import.
PLUGINS = (
    "transformers jinja2 regex openai pydantic numpy apache-tvm-ffi xgrammar msgspec partial-json-parser jsonschema"
)
#: What each part compares, and what it needs.
PARTS = {
    "interfaces": ("names and parameters, asked of the code", "transformers regex jinja2 openai anthropic trl"),
    "parser": ("the parser, over the generated suite", "transformers regex"),
    "renderer": ("the renderer, over chat_templates/", "transformers jinja2"),
    "masks": ("masks of the assistant's tokens", "transformers jinja2 tokenizers"),
    "ids": ("ids of renders, with a user's control tokens as text", "transformers jinja2 tokenizers module"),
    "inputs": ("objects and functions of Python programs", "transformers jinja2 pydantic openai module"),
    "readers": (
        "what each reader loads",
        "transformers regex pydantic msgspec vllm sglang smg-response-template vllm-rust",
    ),
    "grammars": ("grammars, in their engines", "transformers numpy pydantic apache-tvm-ffi xgrammar llguidance"),
    "servers": (
        "the plug-ins, inside the servers",
        f"{PLUGINS} pytest anthropic vllm sglang renderers httpx tokenizers mlx mlx-cpu mlx-lm module",
    ),
    "crates": ("the project's tests, with the newest crates", ""),
}


def needs(part: str) -> list[str]:
    return PARTS[part][1].split()


def arguments() -> argparse.Namespace:
    parts = "\n".join(f"  {name:12} {about}" for name, (about, _) in PARTS.items())
    parser = argparse.ArgumentParser(
        prog=".ci/newest",
        description="Compare Backchat with the newest releases of what it reproduces, reads for and runs in.",
        epilog=f"parts:\n{parts}\n\nExit status: 0 nothing differs, 1 something does, 2 something could not be asked.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="the parts to run; all by default")
    parser.add_argument("--bin", type=Path, metavar="FILE", help="the command backchat; built by default")
    parser.add_argument("--seed", type=int, default=1, help="the seed of everything generated (default: 1)")
    parser.add_argument("--count", type=int, default=60, help="cases of each group of the suite (default: 60)")
    parser.add_argument("--minutes", type=float, default=10, help="the time of each part (default: 10)")
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write the report to this file")
    parser.add_argument("--record", action="store_true", help="write recorded.json (with the part `inputs`)")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.parts if name not in PARTS]:
        parser.error(f"no part is called {unknown[0]}; there are {', '.join(PARTS)}")
    return chosen


def fetched(parts: list[str], folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The versions of what the parts need, and why the rest cannot be fetched."""
    versions, failures = {}, {}
    for need in dict.fromkeys(need for part in parts for need in needs(part)):
        print(f"fetching {need}", file=sys.stderr)
        try:
            versions[need] = packages.fetch(need, folder)
        except packages.NotFetched as error:
            failures[need] = str(error)
    return versions, failures


def release(name: str, version: str) -> str:
    tested = packages.TESTED.get(name)
    return f"{name} {version}" + (f" (tested: {tested})" if tested not in (None, version) else "")


def built(chosen: Path | None) -> Path:
    """The command that is asked."""
    if chosen is None:
        subprocess.run(["cargo", "build", "--locked", "--quiet"], cwd=ROOT, check=True)
        return ROOT / "target" / "debug" / "backchat"
    return chosen.resolve()


def main() -> int:
    chosen = arguments()
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    folder = ROOT / "target" / "newest"
    options = Options(built(chosen.bin), folder, chosen.seed, chosen.count, chosen.record)
    parts = chosen.parts or list(PARTS)
    versions, missing = fetched(parts, folder)
    results = {}
    for part in parts:
        if lacks := [missing[need] for need in needs(part) if need in missing]:
            results[part] = report.Result("", failures=lacks)
            continue
        print(f"running {part}", file=sys.stderr)
        results[part] = process.run(part, options, chosen.minutes)
    version = subprocess.run([options.binary, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    heading = f"{version} and the newest releases, {datetime.date.today():%Y-%m-%d}"
    text = report.written(heading, [release(*each) for each in versions.items()], results)
    print(text)
    if chosen.report is not None:
        chosen.report.write_text(text, encoding="utf-8")
    return report.status(results)


if __name__ == "__main__":
    sys.exit(main())
