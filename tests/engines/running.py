"""Servers as processes: started, awaited, and ended with all that they started."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen


class NotStarted(Exception):
    """A server ended before it answered, or did not answer in time. The text is the end of its log."""


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def running(
    command: Sequence[str | Path], health: str, log: Path, *, environment: dict[str, str], seconds: float = 300
) -> Iterator[None]:
    """Run a server until the end of the block; the block begins when `health` is answered."""
    with log.open("wb") as written:
        process = subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    try:
        _await(process, health, log, time.monotonic() + seconds)
        yield
    finally:
        _end(process)


def _await(process: subprocess.Popen[bytes], health: str, log: Path, until: float) -> None:
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            with urlopen(health, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.3)
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise NotStarted("\n".join(lines[-12:]) or "no output")


def _end(process: subprocess.Popen[bytes]) -> None:
    # Engines have processes of their own, which belong to the same session.
    for each in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, each)
            process.wait(timeout=20)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue
