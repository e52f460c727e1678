"""What is compared, part by part; each part runs in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Options:
    """What every part is given."""

    #: The command `backchat`.
    binary: Path
    #: The folder for what is fetched and built.
    folder: Path
    seed: int
    #: The number of cases of each group of the suite.
    count: int
    #: Whether to write down the reference's answers to the inputs of Python programs.
    record: bool = False

    @property
    def sources(self) -> Path:
        """The folder with the sources of packages that are not installed."""
        return self.folder / "sources"
