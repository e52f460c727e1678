"""Runs a part in a process of its own: what one imports, replaces or breaks is nothing to the next."""

from __future__ import annotations

import importlib
import multiprocessing
import sys
from multiprocessing.connection import Connection

from .parts import Options
from .report import Result


def answer(part: str, options: Options, answers: Connection) -> None:
    """Send the result of a part; an exception is a result, too."""
    # Values of the suite are nested deep.
    sys.setrecursionlimit(10_000)
    try:
        result = importlib.import_module(f"reference.parts.{part}").run(options)
    except Exception as error:  # noqa: BLE001
        result = Result("", failures=[f"{type(error).__name__}: {error}"])
    answers.send(result)


def run(part: str, options: Options, minutes: float) -> Result:
    """The result of a part, which has that long."""
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=answer, args=(part, options, there))
    process.start()
    there.close()
    try:
        if here.poll(minutes * 60):
            result: Result = here.recv()
            return result
        return Result("", failures=[f"no result within {minutes:g} minutes"])
    except EOFError:
        return Result("", failures=["its process ended without a result"])
    finally:
        process.kill()
        process.join()
