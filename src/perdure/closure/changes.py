"""Which constants that imports are read from may be changed at run time, and by which module.

`NAME = "core"` says what `import_module(NAME)` brings only as long as nobody binds it again: by an
attribute (`core.NAME = x`, however it is written), by `setattr` or a patch, through the namespace
of the module, or by code that is handed the module.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from perdure.closure.bindings import Bindings, bindings_of
from perdure.closure.facts import Facts, Relied, Unknown
from perdure.closure.library import Library
from perdure.closure.places import Module, Places, identity
from perdure.closure.source import SourceError
from perdure.closure.strings import ANYTHING, Reader, Strings

_SETTERS = frozenset({"setattr", "delattr", "__setattr__", "__delattr__"})
# Taken of a module, and not called at once, they change or give whatever they are told later.
_LATENT = frozenset({"__setattr__", "__delattr__", "__getattribute__", "__dict__"})
_NAMESPACES = frozenset({"__globals__", "f_globals", "f_locals"})
# They are given a module, and leave it as it is.
_HARMLESS = frozenset(
    {
        *("getattr", "hasattr", "isinstance", "id", "len", "print", "repr", "str", "dir", "type"),
        *("files", "path", "read_text", "getsource", "getfile", "getmembers", "reload"),
    }
)
# What gives a module that nothing in the text names.
_GIVES = frozenset({"import_module", "__import__", "getmodule", "find_module", "load_module"})
# How a constant is changed by somebody who does not name it.
_WAYS = re.compile(
    r"\b(?:[sd]etattr|__(?:set|del)attr__|__dict__|vars|globals|locals|__globals__|f_globals"
    r"|f_locals|patch|__getattribute__)\b|\bsys\s*\.\s*modules\b|\bgetattr\s*\([^)]*[\"']__"
)


def changes(
    relied: Mapping[str, Iterable[Relied]], modules: Iterable[Module], library: Library
) -> Iterator[Unknown]:
    """Find the imports whose constants one of `modules` may change.

    `relied` are the constants by the module that imports what they say.
    """
    wanted: dict[str, set[Relied]] = defaultdict(set)
    for constants in relied.values():
        for one in constants:
            wanted[one.name].add(one)
    if not wanted:
        return
    found = _found(wanted, modules, library)
    for importer, constants in relied.items():
        for one in {(one.home, one.name): one for one in constants}.values():
            if (one.home, one.name) in found:
                what = (
                    f"{one.name!r} says what is imported, and may be changed "
                    f"by {found[one.home, one.name]}"
                )
                yield Unknown(module=importer, line=one.line, what=what, prefixes=("",))


def _found(
    wanted: Mapping[str, set[Relied]], modules: Iterable[Module], library: Library
) -> dict[tuple[str, str], str]:
    """Say of constants, by module and name, where they may be changed first."""
    found: dict[tuple[str, str], str] = {}
    homes = {one.home for ones in wanted.values() for one in ones if one.home}
    suspect = _suspect(wanted, by_any_way=bool(homes))
    for module in modules:
        code = library.code.get(module.name)
        if code is None:
            continue
        if suspect.search(code.text) or _has(library.facts(module), wanted, homes):
            for one, line in _changed(module, wanted, library.places):
                where = f"{module.name}, line {line}"
                found.setdefault((one.home, one.name), where)
    return found


def _suspect(wanted: Mapping[str, set[Relied]], *, by_any_way: bool) -> re.Pattern[str]:
    """Make a pattern of which a text has something, if it changes a constant."""
    named = rf"(?:\.\s*|[\"'])(?:{'|'.join(map(re.escape, sorted(wanted)))})\b"
    return re.compile(f"{named}|{_WAYS.pattern}" if by_any_way else named)


def _has(facts: Facts, wanted: Mapping[str, set[Relied]], homes: set[str]) -> bool:
    """Say whether a module imports one that has a constant, as a whole, or the constant itself."""
    for found in facts.imports:
        if any(f"{found.target}.{name}" in homes or name in wanted for name in found.names):
            return True
        around = {home for home in homes if f"{found.target}.".startswith(f"{home}.")}
        if around and not found.names:
            return True
    return False


def _changed(
    module: Module, wanted: Mapping[str, set[Relied]], places: Places
) -> Iterator[tuple[Relied, int]]:
    try:
        tree = places.source(module).tree
    except SourceError:
        return
    package = module.name if module.is_package else module.name.rpartition(".")[0]
    yield from _Looker(bindings_of(tree, module.name, package), wanted, places).all()


class _Looker:
    """Looks through one module for what changes a constant."""

    def __init__(
        self, bindings: Bindings, wanted: Mapping[str, set[Relied]], places: Places
    ) -> None:
        self._bindings = bindings
        self._wanted = wanted
        self._places = places
        self._reader = Reader(bindings, lambda _module, _name: ANYTHING)
        self._parents = bindings.parents()
        self._constants = [one for ones in wanted.values() for one in ones]
        self._homes = {one.home for one in self._constants}

    def all(self) -> Iterator[tuple[Relied, int]]:
        for node in ast.walk(self._bindings.tree):
            found: Iterable[Relied] = ()
            if isinstance(node, ast.Attribute):
                found = [*self._attribute(node), *self._latent(node), *self._namespace(node)]
            elif isinstance(node, ast.Call):
                found = [*self._call(node), *self._latent(node), *self._namespace(node)]
            elif isinstance(node, ast.ImportFrom):
                found = self._taken(node)
            if isinstance(node, ast.Name | ast.Attribute):
                found = [*found, *self._handed_on(node)]
            yield from ((one, getattr(node, "lineno", 0)) for one in found)

    def _attribute(self, node: ast.Attribute) -> Iterator[Relied]:
        for one in self._wanted.get(node.attr, ()):
            is_changed = (
                one.is_deep
                or not isinstance(node.ctx, ast.Load)
                or (one.in_place and not self._bindings.is_read(node))
            )
            if is_changed and self._may_be(node.value, one.home):
                yield one

    def _latent(self, node: ast.Attribute | ast.Call) -> Iterator[Relied]:
        """Find what takes a module's own way to change it, for whatever it is told later."""
        if isinstance(node, ast.Attribute):
            parent = self._parents.get(id(node))
            is_called = isinstance(parent, ast.Call) and parent.func is node
            latent = _LATENT - {"__dict__"} - (_SETTERS if is_called else set())
            is_taken, owner = node.attr in latent, node.value
        elif _chain(node.func)[-1:] == ["getattr"] and len(node.args) > 1:
            named, owner = self._reader.read(node.args[1]), node.args[0]
            known = [prefix for prefix in named.prefixes if prefix]
            is_taken = bool(named.values & _LATENT) or any(
                one.startswith(prefix) for one in _LATENT for prefix in known
            )
        else:
            return
        if is_taken:
            yield from (one for one in self._constants if self._is(owner, one.home))

    def _taken(self, node: ast.ImportFrom) -> Iterator[Relied]:
        """Find collections that are taken out of their module and then changed."""
        for alias in node.names:
            bound = alias.asname or alias.name
            for one in self._wanted.get(alias.name, ()):
                if (
                    one.in_place
                    and f"{one.home}.{one.name}" in self._bindings.imported_as(bound)
                    and (one.is_deep or not self._bindings.only_read(bound))
                ):
                    yield one

    def _call(self, node: ast.Call) -> Iterator[Relied]:
        chain = _chain(node.func)
        dotted = self._dotted(node.func)
        if "patch" in chain or any("patch" in name.split(".") for name in dotted):
            yield from self._patch(node)
        elif chain and chain[-1] in _SETTERS:
            yield from self._setter(node)

    def _setter(self, node: ast.Call) -> Iterator[Relied]:
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        target = node.args[0] if node.args else None
        if isinstance(target, ast.Constant) and isinstance(target.value, str):
            # As in `monkeypatch.setattr("core.NAME", x)`, or `core.__setattr__("NAME", x)`.
            last = target.value.rpartition(".")[2]
            yield from self._wanted.get(last, ())
            return
        named = self._reader.read(node.args[1]) if len(node.args) > 1 else ANYTHING
        for objects in (target, owner):
            if objects is not None:
                yield from self._set(objects, named)

    def _set(self, target: ast.expr, named: Strings) -> Iterator[Relied]:
        for one in self._constants:
            sure = one.name in named.values
            if (sure and self._may_be(target, one.home)) or (
                _begins(one.name, named) and self._is(target, one.home)
            ):
                yield one

    def _patch(self, node: ast.Call) -> Iterator[Relied]:
        keywords = {keyword.arg for keyword in node.keywords}
        target = node.args[0] if node.args else None
        strings = self._reader.read(target)
        for one in self._constants:
            path = f"{one.home}.{one.name}"
            owners = {one.home, f"{one.home}.__dict__"} & strings.values
            lasts = {value.rpartition(".")[2] for value in strings.values}
            begins = _is_text(target) and any(path.startswith(p) for p in strings.prefixes)
            if owners or one.name in lasts or begins:
                yield one
        if target is not None:
            named = self._reader.read(node.args[1]) if len(node.args) > 1 else Strings()
            yield from self._set(target, named)
            for one in self._constants:
                if keywords & {one.name, None} and self._may_be(target, one.home):
                    yield one

    def _namespace(self, node: ast.Attribute | ast.Call) -> Iterator[Relied]:
        """Find what is changed through a module's namespace."""
        homes = self._namespace_of(node)
        if not homes or self._bindings.is_read(node):
            return
        key = self._key(node)
        for one in self._constants:
            if homes.get(one.home) is None:
                continue
            sure = one.name in key.values
            if sure or (homes[one.home] and _begins(one.name, key)):
                yield one

    def _namespace_of(self, node: ast.Attribute | ast.Call) -> dict[str, bool]:
        """Give the modules whose namespace an expression may be, and whether it surely is."""
        own = self._bindings.module
        if isinstance(node, ast.Attribute):
            if node.attr in _NAMESPACES:
                return {home: bool(home) for home in self._homes}
            target: ast.expr | None = node.value if node.attr == "__dict__" else None
        else:
            called = node.func.id if isinstance(node.func, ast.Name) else ""
            if called in {"globals", "locals", "vars"} and not node.args:
                is_theirs = called == "globals" or not self._is_within_function(node)
                # A constant of any module may be one of this, if somebody names it.
                own_and_any = {own: True, "": False}
                return {h: own_and_any[h] for h in self._homes & {own, ""} if is_theirs}
            target = node.args[0] if called == "vars" else None
        if target is None:
            return {}
        return {h: self._is(target, h) for h in self._homes if self._may_be(target, h)}

    def _key(self, node: ast.expr) -> Strings:
        """Say which names are changed of a namespace."""
        parent = self._parents.get(id(node))
        if isinstance(parent, ast.Subscript):
            if self._is_missing_name(parent):
                return Strings()
            return self._reader.read(parent.slice)
        call = self._parents.get(id(parent)) if isinstance(parent, ast.Attribute) else None
        if isinstance(parent, ast.Attribute) and isinstance(call, ast.Call):
            if parent.attr == "update" and not call.args:
                named = {keyword.arg for keyword in call.keywords}
                known = frozenset(name for name in named if name is not None)
                return ANYTHING if None in named else Strings(known)
            if parent.attr in {"setdefault", "pop", "__setitem__", "__delitem__"} and call.args:
                return self._reader.read(call.args[0])
        return ANYTHING

    def _is_missing_name(self, node: ast.Subscript) -> bool:
        """Say whether it is in a `__getattr__` that keeps what it found, by the name it is asked.

        That is called for names only that the module does not have.
        """
        around = self._parents.get(id(node))
        while around is not None and not isinstance(around, ast.FunctionDef):
            around = self._parents.get(id(around))
        return (
            isinstance(around, ast.FunctionDef)
            and around.name == "__getattr__"
            and isinstance(node.slice, ast.Name)
            and node.slice.id in {arg.arg for arg in around.args.args[:1]}
        )

    def _handed_on(self, node: ast.Name | ast.Attribute) -> Iterator[Relied]:
        """Find modules that are handed to somebody who may do anything with them."""
        parent = self._parents.get(id(node))
        if not isinstance(node.ctx, ast.Load) or isinstance(parent, ast.Attribute):
            return
        if isinstance(parent, ast.Call):
            chain = _chain(parent.func)
            # What sets an attribute of it says which.
            known = _HARMLESS | _SETTERS | {"vars"}
            if parent.func is node or known.intersection(chain[-1:]) or "patch" in chain:
                return
        if isinstance(parent, ast.Compare | ast.Expr | ast.Delete):
            return
        dotted = self._dotted(node)
        for one in self._constants:
            if any(self._is_module(name, one.home) for name in dotted):
                yield one

    def _dotted(self, node: ast.expr) -> set[str]:
        if isinstance(node, ast.Name):
            return self._bindings.imported_as(node.id)
        if isinstance(node, ast.Attribute):
            return {f"{owner}.{node.attr}" for owner in self._dotted(node.value)}
        return set()

    def _may_be(self, target: ast.expr, home: str) -> bool:
        """Say whether an object that is named in the text may be a module."""
        if isinstance(target, ast.Name) and self._is_instance(target):
            return False
        dotted = self._dotted(target)
        return not dotted or any(self._may_lead(name, home) for name in dotted)

    def _may_lead(self, name: str, home: str) -> bool:
        if not home or name.partition(".")[0] == "__main__" or self._is_module(name, home):
            return True
        # What is no module is a name that a module of the program's own has for something.
        return self._places.find(name) is None and bool(self._places.chain(name))

    def _is_module(self, name: str, home: str) -> bool:
        found = self._places.find(name)
        there = self._places.find(home)
        if found is None or there is None:
            return name == home
        return found.name == there.name or bool(found.path and identity(found) == identity(there))

    def _is(self, target: ast.expr, home: str) -> bool:
        """Say whether an object is a module, or comes from where modules come from."""
        if not home or any(self._is_module(name, home) for name in self._dotted(target)):
            return bool(home)
        if isinstance(target, ast.Name):
            binding = self._bindings.single(target.id)
            value = binding.value if binding is not None and binding.how == "value" else None
            return value is not None and _gives_module(value)
        return _gives_module(target)

    def _is_instance(self, target: ast.Name) -> bool:
        """Say whether a name is that of the object which a method belongs to.

        That is no module, unless its class is one of modules.
        """
        around = self._parents.get(id(target))
        while around is not None:
            if isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef):
                first = [*around.args.posonlyargs, *around.args.args][:1]
                owner = self._parents.get(id(around))
                if first and first[0].arg == target.id:
                    return isinstance(owner, ast.ClassDef) and not _is_of_modules(owner)
            around = self._parents.get(id(around))
        return False

    def _is_within_function(self, node: ast.AST) -> bool:
        around = self._parents.get(id(node))
        while around is not None:
            if isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                return True
            around = self._parents.get(id(around))
        return False


def _is_of_modules(node: ast.ClassDef) -> bool:
    return any("Module" in name for base in node.bases for name in _chain(base)[-1:])


def _begins(name: str, strings: Strings) -> bool:
    return name in strings.values or any(name.startswith(one) for one in strings.prefixes)


def _is_text(node: ast.expr | None) -> bool:
    """Say whether an expression may be the path of a constant, and not an object."""
    return isinstance(node, ast.JoinedStr | ast.BinOp | ast.Call | ast.Subscript)


def _chain(node: ast.expr) -> list[str]:
    """Give the names of an expression such as `mock.patch.object`, as far as it has any."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        names.insert(0, node.id)
    return names


def _gives_module(node: ast.expr) -> bool:
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and _chain(part)[-2:] == ["sys", "modules"]:
            return True
        if isinstance(part, ast.Call) and _GIVES.intersection(_chain(part.func)[-1:]):
            return True
    return False
