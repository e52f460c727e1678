"""What a part found, and the report about all parts in Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Difference:
    """One way in which Backchat is not like what it was compared with."""

    #: What it is about: a content parser, a construct of patterns, a parameter.
    feature: str
    #: What is different, in one line.
    what: str
    #: The smallest input that shows it, in any text; empty if `what` says it all.
    example: str = ""
    theirs: str = ""
    ours: str = ""


@dataclass
class Result:
    """The result of a part."""

    #: What was compared with what, and how much of it.
    asked: str
    differences: list[Difference] = field(default_factory=list)
    #: Facts that are no differences.
    notes: list[str] = field(default_factory=list)
    #: What could not be compared, and why.
    failures: list[str] = field(default_factory=list)


def clipped(text: str, most: int = 600) -> str:
    """A text of at most this many characters, for a block of code."""
    text = text.replace("```", "'''")
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def described(difference: Difference) -> Iterable[str]:
    yield f"- {difference.what}"
    shown = [("", difference.example), ("theirs: ", difference.theirs), ("ours:   ", difference.ours)]
    lines = [label + line for label, text in shown if text for line in clipped(text).splitlines()]
    if lines:
        yield from ["  ```text", *(f"  {line}" for line in lines), "  ```"]


def section(name: str, result: Result) -> Iterable[str]:
    """The part's section, its differences in the order of their features."""
    yield f"\n## {name}\n\n{result.asked}"
    features: dict[str, list[Difference]] = {}
    for difference in result.differences:
        features.setdefault(difference.feature, []).append(difference)
    for feature, differences in features.items():
        yield f"\n### {feature}\n"
        for difference in differences:
            yield from described(difference)
    if result.notes or result.failures:
        yield ""
    yield from (f"- note: {note}" for note in result.notes)
    yield from (f"- could not ask: {failure}" for failure in result.failures)


def summary(results: dict[str, Result]) -> Iterable[str]:
    yield "\n## Summary\n"
    yield "| part | features that differ | differences | could not ask |\n|---|---|---|---|"
    for name, result in results.items():
        features = list(dict.fromkeys(difference.feature for difference in result.differences))
        yield f"| {name} | {'; '.join(features) or 'none'} | {len(result.differences)} | {len(result.failures)} |"


def written(heading: str, versions: Iterable[str], results: dict[str, Result]) -> str:
    """The whole report."""
    lines = [f"# {heading}\n", *(f"- {version}" for version in versions)]
    for name, result in results.items():
        lines += section(name, result)
    return "\n".join([*lines, *summary(results)]) + "\n"


def status(results: dict[str, Result]) -> int:
    """The exit status: 2 if something could not be asked, 1 if something differs, 0 otherwise."""
    if any(result.failures for result in results.values()):
        return 2
    return int(any(result.differences for result in results.values()))
