"""Fetches the newest releases: packages into this environment, the sources of large packages into a folder.

`python -m reference.packages FOLDER` fetches the sources of the servers in the releases of tested.txt.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import site
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.request import Request, urlopen

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
#: The releases that Backchat is tested with, as pip's constraints.
TESTED = dict(re.findall(r"(?m)^([\w-]+)==(\S+)$", (HERE / "tested.txt").read_text(encoding="utf-8")))
#: Installed without their dependencies, which are large: xgrammar needs torch on a GPU only.
ALONE = {"xgrammar"}
#: What is read as sources, and which folders of the package are kept.
SOURCES = {"vllm": {"vllm": "vllm", "rust": "vllm-rust"}, "sglang": {"sglang": "sglang"}, "trl": {"trl": "trl"}}


class NotFetched(Exception):
    """A package cannot be fetched; the text says which, and why."""


def last_line(run: subprocess.CompletedProcess[str]) -> str:
    lines = (run.stderr or run.stdout).strip().splitlines()
    return lines[-1][:300] if lines else f"exit status {run.returncode}"


def install(name: str) -> str:
    """Install the newest release of a package, and return its version."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", *["--no-deps"] * (name in ALONE), name]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise NotFetched(f"{name}: {last_line(run)}")
    return metadata.version(name)


def index(name: str) -> dict[str, Any]:
    """The files of a package in the index that pip uses."""
    base = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
    request = Request(f"{base}/{name}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    with urlopen(request, timeout=120) as answer:
        listed: dict[str, Any] = json.load(answer)
        return listed


def newest(name: str) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", name], capture_output=True, text=True, check=False
    )
    found = re.match(rf"{name} \((.*)\)", run.stdout)
    if found is None:
        raise NotFetched(f"{name}: {last_line(run)}")
    return found[1]


def archive(name: str, version: str) -> dict[str, Any]:
    """The source distribution of a release, or else its smallest wheel: both have the Python sources."""
    files = [
        file
        for file in index(name)["files"]
        if re.match(rf"{name}-{re.escape(version)}(-|\.tar\.gz$)", file["filename"])
    ]
    if not files:
        raise NotFetched(f"{name}: no file of release {version}")
    return min(files, key=lambda file: (not file["filename"].endswith(".tar.gz"), file["size"]))


def members(file: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    """The paths in an archive, below the folder of a source distribution, with their contents."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            for name in wheel.namelist():
                yield PurePosixPath(name), wheel.read(name)
        return
    with tarfile.open(file) as sources:
        for member in sources:
            if (content := sources.extractfile(member)) is not None:
                yield PurePosixPath(*PurePosixPath(member.name).parts[1:]), content.read()


def sources(name: str, version: str, folder: Path) -> str:
    """Put the code of a release into the folder, unless it is there, and return the version."""
    stamp = folder / f"{name}.version"
    if stamp.exists() and stamp.read_text(encoding="utf-8").strip() == version:
        return version
    for kept in SOURCES[name].values():
        shutil.rmtree(folder / kept, ignore_errors=True)
    try:
        found = archive(name, version)
        with tempfile.TemporaryDirectory() as temporary:
            file = Path(temporary, found["filename"])
            with urlopen(found["url"], timeout=600) as answer, file.open("wb") as out:
                shutil.copyfileobj(answer, out)
            unpack(name, file, folder)
    except OSError as error:
        raise NotFetched(f"{name} {version}: {error}") from error
    stamp.write_text(f"{version}\n", encoding="utf-8")
    return version


def unpack(name: str, file: Path, folder: Path) -> None:
    """Only code: no templates, no data, nothing compiled."""
    for path, content in members(file):
        kept = SOURCES[name].get(path.parts[0])
        if kept is None or ".." in path.parts or (path.parts[0] != "rust" and path.suffix != ".py"):
            continue
        target = folder.joinpath(kept, *path.parts[1:])
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def program(name: str, folder: Path, lock: Path | None = None) -> str:
    """Build a program of readers/ in a folder of its own, with the newest crates or those of a lock file."""
    built = folder / "readers" / name
    shutil.copytree(HERE / "readers" / name, built, dirs_exist_ok=True)
    if lock is not None:
        shutil.copy(lock, built / "Cargo.lock")
    else:
        (built / "Cargo.lock").unlink(missing_ok=True)
    # The program is run from its own folder, wherever this user's other builds go.
    environment = {**os.environ, "CARGO_TARGET_DIR": str(built / "target")}
    command = ["cargo", "build", "--quiet"]
    run = subprocess.run(command, cwd=built, env=environment, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise NotFetched(f"the program readers/{name}: {last_line(run)}")
    crate = "smg-response-template" if lock is None else "vllm-parser"
    listed = (built / "Cargo.lock").read_text(encoding="utf-8")
    found = re.search(rf'name = "{crate}"\nversion = "(.*)"', listed)
    return found[1] if found else "?"


def module() -> str:
    """Build Backchat's Python module from this checkout and install it."""
    install("maturin")
    environment = {**os.environ, "VIRTUAL_ENV": sys.prefix}
    command = [str(Path(sys.prefix, "bin", "maturin")), "develop", "--locked", "--quiet"]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise NotFetched(f"Backchat's Python module: {last_line(run)}")
    # It is installed as a path, which only processes that start later would have; the parts inherit this one's.
    site.addsitedir(sysconfig.get_path("purelib"))
    return metadata.version("backchat")


def fetch(need: str, folder: Path) -> str:
    """Fetch one need of a part, and return its version."""
    if need == "module":
        return module()
    if need == "smg-response-template":
        return program("smg", folder)
    if need == "vllm-rust":
        return program("vllm_rust", folder, folder / "sources" / "vllm-rust" / "Cargo.lock")
    if need in SOURCES:
        return sources(need, newest(need), folder / "sources")
    return install(need)


def main() -> None:
    for name in ("vllm", "sglang"):
        sources(name, TESTED[name], Path(sys.argv[1]))


if __name__ == "__main__":
    main()
