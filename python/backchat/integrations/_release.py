"""Whether an engine is of a release that a plug-in can serve."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version


def require(package: str, oldest: tuple[int, int]) -> None:
    """Raise ImportError if an older release is installed: it would start, and then fail each request.

    Builds from source have the number of no release, and sources on the path have none; they are taken.
    """
    try:
        release = version(package)
    except PackageNotFoundError:
        return
    if "dev" in release or tuple(map(int, re.findall(r"\d+", release)[:2])) >= oldest:
        return
    needed = ".".join(map(str, oldest))
    raise ImportError(
        f"the plug-in of Backchat serves {package} {needed} and newer, and this is {release}: "
        f"install a newer {package}, or put `backchat serve` in front of it"
    )
