"""The project's lints and tests with the newest crates that Cargo.toml allows, in a copy of its own."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

from ..report import Difference, Result
from . import ROOT, Options

#: Rendering is what a new release would change.
TESTS = ["chat_templates::", "chat_dialect::", "chat_hostile::", "derived::", "serde::"]


def copy(folder: Path) -> None:
    """The files under version control."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    packed = subprocess.run(
        ["tar", "--null", "--files-from=-", "-cf", "-"], cwd=ROOT, input=listed, capture_output=True, check=True
    )
    subprocess.run(["tar", "-xf", "-", "-C", str(folder)], input=packed.stdout, check=True)


def run(options: Options) -> Result:
    result = Result("")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy(folder)
        # Without a target folder of its own, every run would rebuild all dependencies.
        environment = {**os.environ, "CARGO_TARGET_DIR": str(options.folder / "cargo")}

        def cargo(*arguments: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                ["cargo", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
            )

        updated = cargo("update", "--verbose")
        if updated.returncode != 0:
            return Result("", failures=[f"cargo update: {updated.stderr[-300:]}"])
        moved = re.findall(r"(?m)^ *Updating (\S+ v\S+ -> v\S+)$", updated.stderr)
        held = re.findall(r"(?m)^ *Unchanged (\S+ v\S+) \(available: (v\S+)\)", updated.stderr)
        result.notes += [f"{crate}; {newer} exists, which Cargo.toml does not allow" for crate, newer in held]
        result.asked = f"Crates that Cargo.lock does not have yet: {', '.join(moved) or 'none'}."
        for command in (
            ["clippy", "--quiet", "--workspace", "--all-targets"],
            ["test", "--quiet", "--test", "it", "--", *TESTS],
        ):
            done = cargo(*command)
            if done.returncode != 0:
                output = (done.stdout + done.stderr)[-600:]
                result.differences.append(Difference(f"cargo {command[0]}", "fails with the newest crates", output))
    return result
