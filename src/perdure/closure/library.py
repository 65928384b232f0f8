"""What the modules of a program say, each read once."""

from __future__ import annotations

import ast
from collections.abc import Callable

from perdure.closure import dynamic
from perdure.closure.bindings import bindings_of
from perdure.closure.facts import Facts, Import, Mention, Relied, Unknown
from perdure.closure.imports import FLAG, TYPING, Flags, statements
from perdure.closure.mentions import mentions_of
from perdure.closure.places import Kind, Module, Places
from perdure.closure.source import Source, SourceError
from perdure.closure.strings import ANYTHING, Reader, Strings
from perdure.records.fingerprint import Code

_HOPS_MAX = 4


class Library:
    """Reads the modules that places lead to: what they import, and their code as it counts."""

    def __init__(
        self,
        places: Places,
        *,
        mentioned: frozenset[str],
        is_left_out: Callable[[str], bool] = lambda _name: False,
    ) -> None:
        """Make a library over places.

        A string that begins with one of the names in `mentioned` may name a module; if there are
        any, so may one that begins with the name of what is beside the module that has the string.
        `is_left_out` says of a module that it is not to be read, because somebody else accounts for
        it.
        """
        self.places = places
        self._mentioned = mentioned
        self._is_left_out = is_left_out
        self._facts: dict[str, Facts] = {}
        self._hops = 0
        self.code: dict[str, Code] = {}
        self.failed: dict[str, SourceError] = {}

    def facts(self, module: Module) -> Facts:
        """Read what a module says. What cannot be read, or has no source, may import anything."""
        if module.name not in self._facts:
            self._facts[module.name] = self._read(module)
        return self._facts[module.name]

    def _read(self, module: Module) -> Facts:
        if module.kind is Kind.NAMESPACE or self._is_left_out(module.name):
            return Facts()
        if module.kind is not Kind.SOURCE:
            return _closed(module, "it has no source, so what it imports cannot be read")
        try:
            source = self.places.source(module)
        except SourceError as error:
            self.failed[module.name] = error
            return _closed(module, f"it cannot be read ({error.wrong})")
        self.code[module.name] = Code(text=source.text, is_package=module.is_package)
        return self._told(module, source)

    def _told(self, module: Module, source: Source) -> Facts:
        name = module.name
        package = name if module.is_package else name.rpartition(".")[0]
        imports: list[Import] = []
        unknown: list[Unknown] = []
        flags = self._flags(source)
        for found in statements(source.tree, name, package, flags):
            if isinstance(found, Import):
                imports.append(found)
            else:
                unknown.append(found)
        groups: tuple[tuple[str, int], ...] = ()
        handles: tuple[tuple[str, str], ...] = ()
        relied = [
            Relied(line=found.line, home="", name=flag)
            for found in [one for one in imports if not one.is_executed][:1]
            for flag in flags.names
        ]
        if dynamic.is_suspect(source.text):
            calls = dynamic.calls(source.tree, name, package, self._constant)
            imports += calls.imports
            unknown += calls.unknown
            groups = tuple(calls.groups)
            relied += calls.relied
            handles = tuple(calls.handles)
        mentions: tuple[Mention, ...] = ()
        if self._mentioned:
            beside = self.places.beside(package)
            mentions = tuple(mentions_of(source.tree, self._mentioned, package, beside))
        exports = exports_of(source.tree, name) if "__all__" in source.text else None
        return Facts(
            imports=tuple(imports),
            unknown=tuple(unknown),
            mentions=mentions,
            groups=groups,
            exports=None if exports is None else tuple(sorted(exports.values)),
            exports_open=exports is not None and bool(exports.prefixes),
            relied=tuple(dict.fromkeys(relied)),
            handles=handles,
            exports_relied=() if exports is None else tuple(dynamic.relied_of(exports, 0)),
        )

    def _flags(self, source: Source) -> Flags:
        # A module of the program's own may have the name of one that has the flag.
        typing = frozenset(name for name in TYPING if self.places.find(name) is None)
        return Flags(source.tree, has_flag=FLAG in source.text, typing=typing)

    def _constant(self, module_name: str, name: str) -> Strings:
        """Read the constant of another module, if that is one of the program's."""
        module = self.places.find(module_name)
        if module is None or module.kind is not Kind.SOURCE or self._hops >= _HOPS_MAX:
            return ANYTHING
        try:
            tree = self.places.source(module).tree
        except SourceError:
            return ANYTHING
        package = module_name if module.is_package else module_name.rpartition(".")[0]
        bindings = bindings_of(tree, module_name, package)
        if not bindings.is_bound(name) and self.places.find(f"{module_name}.{name}") is not None:
            return Strings()  # a module, and no string
        reader = Reader(bindings, self._constant)
        self._hops += 1
        try:
            return reader.read(ast.Name(name, ast.Load()))
        finally:
            self._hops -= 1


def exports_of(tree: ast.Module, module: str) -> Strings | None:
    """Read the `__all__` of a module; None if it has none."""
    bindings = bindings_of(tree, module, "")
    if not bindings.is_bound("__all__"):
        return None
    reader = Reader(bindings, lambda _module, _name: ANYTHING)
    return reader.items(ast.Name("__all__", ast.Load()))


def _closed(module: Module, what: str) -> Facts:
    unknown = Unknown(module=module.name, line=0, what=what, prefixes=("",))
    return Facts(unknown=(unknown,))
