"""The command of `.ci/engines`: runs the matrix in real engines, and prints what is not as asked."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from .answer import Answer, Refused, ask
from .asks import FREE, KINDS, request
from .judge import BROKEN, CUT, NOISE, verdict
from .model import Model
from .running import NotStarted
from .setups import SETUPS, Setup

#: Formats that differ in what a grammar must know: markers, reasoning, channels, Python's calls, tags for arguments.
FORMATS = [
    "hermes",
    "qwen3",
    "qwen3_coder",
    "kimi_k2",
    "glm_4_6",
    "mistral_nemo",
    "deepseek_r1",
    "seed_oss",
    "llama_3_1",
    "gpt_oss",
]

#: The problem that `serve` reports if an engine could not be given the grammar of a request.
UNCONSTRAINED = "unconstrained"


@dataclass
class Result:
    """The matrix of one engine and one model."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, case: str, wrong: str | None, answer: object) -> None:
        """Count one answer."""
        counted = wrong in (CUT, NOISE, BROKEN)
        self.counts[wrong if counted and wrong else "wrong" if wrong else "right"] += 1
        if wrong and not counted:
            self.faults.append(f"{case}: {wrong}: {answer}")


def matrix(setup: Setup, model: Model, port: int, chosen: argparse.Namespace) -> Result:
    """Ask for each kind with each seed, streamed and not."""
    result = Result()
    for kind in KINDS:
        for seed in range(chosen.seeds):
            answers = [_asked(result, setup, model, port, (kind, seed, stream), chosen) for stream in (False, True)]
            # What a stream has sent of a broken call cannot be taken back; a whole answer has it as content.
            was_sent = answers[1] is not None and verdict(kind, answers[1]) == BROKEN
            if None not in answers and answers[0] != answers[1] and not was_sent:
                result.add(f"{kind} {seed}", "streamed is not as whole", answers)
    return result


def _asked(
    result: Result, setup: Setup, model: Model, port: int, case: tuple[str, int, bool], chosen: argparse.Namespace
) -> Answer | None:
    kind, seed, stream = case
    named = f"{kind} {seed} {'streamed' if stream else 'whole'}"
    leanings = model.leanings if setup.guarantees else {}
    body = request(kind, seed, stream=stream, leanings=leanings, limit=chosen.limit)
    is_free = setup.guarantees or kind in FREE
    try:
        answer = ask(port, body)
    except (Refused, OSError) as error:
        is_right = not is_free and isinstance(error, Refused) and error.status == 400
        result.add(named, None if is_right else "an error", error)
        return None
    if is_free:
        result.add(named, verdict(kind, answer), answer)
    else:
        result.add(named, None if UNCONSTRAINED in answer.problems else "neither refused nor told", answer)
    return answer


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=".ci/engines",
        description="Run Backchat in and in front of real engines, on tiny models with random weights.",
        epilog="Exit status: 0 if every answer is what was asked, 1 if one is not, 2 if an engine did not start.",
    )
    parser.add_argument("setups", nargs="*", metavar="SETUP", help=f"what to run; all by default: {', '.join(SETUPS)}")
    parser.add_argument("--environments", type=Path, required=True, metavar="FOLDER", help="the engines' environments")
    parser.add_argument("--bin", type=Path, required=True, metavar="FILE", help="the command backchat")
    parser.add_argument("--formats", nargs="*", default=FORMATS, metavar="NAME", help="names in chat_templates/")
    parser.add_argument("--seeds", type=int, default=3, help="seeds of each kind (default: 3)")
    parser.add_argument("--limit", type=int, default=300, help="the limit of an answer, in tokens (default: 300)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep models, logs and records in this folder")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.setups if name not in SETUPS]:
        parser.error(f"no setup is called {unknown[0]}; there are {', '.join(SETUPS)}")
    return chosen


def main() -> int:
    chosen = arguments()
    status = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in chosen.setups or SETUPS:
            setup = SETUPS[name]
            if not setup.python(chosen.environments).exists():
                print(f"{name}: skipped, because {setup.engine} is not installed", flush=True)
                continue
            for format in chosen.formats:
                status = max(status, _run(setup, Model.open(format, chosen.bin), folder, chosen))
    return status


def _run(setup: Setup, model: Model, folder: Path, chosen: argparse.Namespace) -> int:
    try:
        with setup.started(chosen.environments, chosen.bin, model, folder) as port:
            result = matrix(setup, model, port, chosen)
    except NotStarted as error:
        print(f"{setup.name} {model.name}: not started\n{error}", flush=True)
        return 2
    counts = ", ".join(f"{count} {name}" for name, count in sorted(result.counts.items()))
    print(f"{setup.name} {model.name}: {counts}", flush=True)
    for fault in result.faults:
        print(f"  {fault[:600]}", flush=True)
    return 1 if result.faults else 0


if __name__ == "__main__":
    sys.exit(main())
