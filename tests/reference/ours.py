"""The command `backchat`, asked: rows into a running process, or one run."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

#: How long an answer may take; a row that takes longer is a difference of its own.
SECONDS = 20


class Rows:
    """A running `backchat … --jsonl -`, which answers one row after another and is started again if it dies."""

    def __init__(self, binary: Path, *arguments: str):
        self.command = [str(binary), *arguments, "--jsonl", "-"]
        self._start()

    def _start(self) -> None:
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.unread = b""

    def ask(self, row: dict[str, Any]) -> dict[str, Any]:
        """The answer to a row; `{"error": {"stage": "hang" | "crash", …}}` if there is none."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps({"id": 0, **row}).encode() + b"\n")
            self.process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._line(), parse_int=integer)
            return answer
        except TimeoutError:
            return self._restart("hang", f"no answer within {SECONDS} seconds")
        except (EOFError, BrokenPipeError):
            return self._restart("crash", "the process ended")

    def _line(self) -> bytes:
        assert self.process.stdout is not None
        output = self.process.stdout.fileno()
        while b"\n" not in self.unread:
            if not select.select([output], [], [], SECONDS)[0]:
                raise TimeoutError
            more = os.read(output, 1 << 16)
            if not more:
                raise EOFError
            self.unread += more
        line, _, self.unread = self.unread.partition(b"\n")
        return line

    def _restart(self, stage: str, message: str) -> dict[str, Any]:
        self.close()
        self._start()
        return {"error": {"stage": stage, "message": message}}

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


class Renders(Rows):
    """A running `backchat render`, for one chat template after another."""

    def __init__(self, binary: Path, folder: Path, *arguments: str):
        super().__init__(binary, "render", "--aliases", *arguments)
        self.folder, self.opened = folder, 0

    def open(self, source: str) -> None:
        """Ask about this template from now on."""
        # A file each: the command reads a file once.
        self.opened += 1
        self.file = self.folder / f"{self.opened}.jinja"
        self.file.write_text(source, encoding="utf-8")

    def render(self, context: dict[str, Any], **options: Any) -> dict[str, Any]:
        return self.ask({"template": str(self.file), "context": context, **options})


def integer(digits: str) -> int | str:
    """A number of Python, as far as Python reads numbers."""
    return int(digits) if len(digits) <= sys.get_int_max_str_digits() else digits


def run(binary: Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """One run of the command; its exit code is the caller's to judge."""
    command = [str(binary), *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=600, check=False)
