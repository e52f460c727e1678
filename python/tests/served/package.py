"""Loads a server's own parser modules from its unpacked wheel; every module beside them is an empty stand-in."""

import contextlib
import importlib
import importlib.abc
import importlib.util
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import ClassVar

from pydantic_core import core_schema


class Absent:
    """A stand-in for anything that is not loaded: a base class, a decorator, a type in an annotation, an object."""

    def __init__(self, *args, **kwargs):
        pass

    def __init_subclass__(cls, **kwargs):
        pass

    def __class_getitem__(cls, item):
        return cls

    def __call__(self, *args, **kwargs):
        return Absent()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent()

    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        return core_schema.any_schema()


class Module(types.ModuleType):
    """A module of the package that is a stand-in, apart from the modules below it that are loaded."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if (full := f"{self.__name__}.{name}") in sys.modules or self.__spec__.loader.loads(full):
            return importlib.import_module(full)
        absent = type(name, (Absent,), {})
        setattr(self, name, absent)
        return absent


class Package(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of a package, and of missing packages that it imports."""

    def __init__(self, folder: Path, loaded: tuple[str, ...], absent: tuple[str, ...]):
        self.folder, self.loaded, self.absent = folder, loaded, absent

    def loads(self, name: str) -> bool:
        return any(name == module or name.startswith(f"{module}.") for module in self.loaded)

    def find_spec(self, name, path, target=None):
        top = name.partition(".")[0]
        if top == self.loaded[0].partition(".")[0] and self.loads(name):
            file = self.folder.joinpath(*name.split("."))
            if (file / "__init__.py").is_file():
                below = [str(file)]
                return importlib.util.spec_from_file_location(
                    name, file / "__init__.py", submodule_search_locations=below
                )
            if file.with_suffix(".py").is_file():
                return importlib.util.spec_from_file_location(name, file.with_suffix(".py"))
        if top in (self.loaded[0].partition(".")[0], *self.absent):
            return ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        pass


def load(folder: Path, loaded: tuple[str, ...], absent: tuple[str, ...] = ()) -> None:
    """Make the modules `loaded` the server's own; `absent` names other missing packages."""
    # xgrammar checks whether torch is installed, which must be answered before a stand-in claims so.
    with contextlib.suppress(ImportError):
        import tvm_ffi  # noqa: F401
    missing = tuple(name for name in absent if importlib.util.find_spec(name) is None)
    sys.meta_path.insert(0, Package(folder, loaded, missing))
