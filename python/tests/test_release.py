"""The releases of engines that a plug-in serves."""

from importlib.metadata import PackageNotFoundError

import pytest
from backchat.integrations import _release


def installed(monkeypatch, release):
    def version(package):
        if release is None:
            raise PackageNotFoundError(package)
        return release

    monkeypatch.setattr(_release, "version", version)


@pytest.mark.parametrize(
    "release", ["0.33.0", "0.33.1rc1", "0.34.0+cpu", "1.0.0", "0.1.dev1+gabcdef", "0.32.1.dev3", None]
)
def test_releases_that_are_served(monkeypatch, release):
    installed(monkeypatch, release)
    _release.require("vllm", (0, 33))


@pytest.mark.parametrize("release", ["0.32.0", "0.9.2", "0.32.0+cpu"])
def test_older_releases_are_refused_when_the_plug_in_is_loaded(monkeypatch, release):
    installed(monkeypatch, release)
    with pytest.raises(ImportError, match=rf"serves vllm 0\.33 and newer, and this is {release[:6]}.*backchat serve"):
        _release.require("vllm", (0, 33))
