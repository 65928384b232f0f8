"""Imports that are calls: by a string, by the name of a command, by a look-up of entry points.

Where the source says which module is meant, it is an import like any other. Where it does not, it
is unknown what is imported, and it is said so. Pure.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

from msgspec.structs import replace

from perdure.closure.bindings import Bindings, bindings_of
from perdure.closure.facts import Import, Relied, Unknown
from perdure.closure.importers import (
    BUILT_IN_IMPORT,
    BY_NAME,
    ENTRY_POINTS,
    GIVEN,
    HANDED_ON,
    IMPORTERS,
    IN_C,
    KNOWN,
    LOAD_POINTS,
    LOADERS,
    LOOKING,
    MUTATORS,
    PATHS,
    READERS,
    RUNNING,
    UNSAID,
    WITHIN,
)
from perdure.closure.imports import expects_absence
from perdure.closure.mentions import NAME
from perdure.closure.relative import absolute, leading_dots
from perdure.closure.strings import ANYTHING, Constant, Lookup, Reader, Strings, exactly, text_of

# A module without any of these words has no such import; most modules are settled by this.
_WORDS = (
    "import_",
    "importlib",
    "__import__",
    "builtins",
    "runpy",
    "pkgutil",
    "entry_points",
    "pickle",
    "shelve",
    "zipimport",
    "c_module",
    "d_module",
    "addsitedir",
    "__path__",
    "__package__",
    "pytest",
    "django",
    "IPython",
    "pkg_resources",
    "resolve_name",
    '"-m"',
    "'-m'",
    '"python',
    "'python",
    "/python",
    "pydoc",
    "marshal",
    "lazy_loader",
    "read_pickle",
    "joblib",
    "jsonpickle",
    "unsafe_load",
    "fileConfig",
    "unittest",
    "entrypoints",
    "dictConfig",
    "make_parser",
    "mock",
    "multiprocessing",
    "Pickler",
    "ctypes",
    *IN_C,
)
# These are parts of many others, and so are looked for as whole words.
# Whoever asks a namespace for one of these by its name has something in mind.
_LOOKED_UP = frozenset({"__import__", "__builtins__", "builtins", "importlib"})
_POINTS = frozenset({"entry_points"})
_BY_ATTRIBUTE = frozenset({"getattr", "setattr"})
_ANOTHER = "another Python program is started"
_SHORT_WORDS = ("exec", "eval", "sys", "imp", "dill")
# Modules that execute strings have names like any other word's, and are looked for as imported.
_EXECUTORS = re.compile(
    r"\b(?:import|from)\b(?:[^\n\\]|\\\r?\n)*"
    r"\b(?:bdb|cProfile|code|doctest|pdb|profile|timeit|trace)\b"
)
_SHORT = re.compile(rf"\b(?:{'|'.join(_SHORT_WORDS)})\b")
# A command that starts Python on a file, or on code that it is given.
_PYTHON = re.compile(r"(?:^|/)python[\d.]*(?:\.exe)?\Z")
_PYTHON_RUNS = re.compile(r"(?:^|[\s/;&|])python[\d.]*\s+(?:-\w+\s+)*(?:-c\s|[\w./-]+\.py\b)")
# Code in a string, with a call that may import anything.
_IMPORTS_ANY = re.compile(r"__import__|\bimport_module\s*\(|\bimport[\s(]*\*")
_NAMES_MAX = 8
# What stands under these in a configuration of logs is no class, nor holds one.
_NAMES_NOTHING = frozenset(
    {"backupCount", "datefmt", "encoding", "filename", "format", "level", "maxBytes", "mode"}
    | {"propagate", "stream", "style", "version", "when", "disable_existing_loggers"}
)


@dataclass
class Dynamic:
    """What was found: imports, unknowns, entry-point groups with their lines.

    `relied` are the constants that these were read from, `handles` the names that the module has
    for functions that import.
    """

    imports: list[Import] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)
    groups: list[tuple[str, int]] = field(default_factory=list)
    relied: list[Relied] = field(default_factory=list)
    handles: list[tuple[str, str]] = field(default_factory=list)


def is_suspect(text: str) -> bool:
    """Say whether a module's text may hold an import that is a call."""
    # Python folds look-alike letters in names, which a search for plain words would miss.
    if not text.isascii() or any(word in text for word in _WORDS):
        return True
    if any(word in text for word in _SHORT_WORDS) and _SHORT.search(text) is not None:
        return True
    if "import *" in text or _EXECUTORS.search(text) is not None:
        return True
    return "python" in text and _PYTHON_RUNS.search(text) is not None


def calls(tree: ast.Module, module: str, package: str, lookup: Lookup) -> Dynamic:
    """Find the imports of a module that are calls. `lookup` knows other modules' constants."""
    bindings = bindings_of(tree, module, package)
    found = Dynamic()
    finder = _Finder(bindings, Reader(bindings, lookup), found)
    for node in ast.walk(tree):
        finder.look(node)
    found.handles.extend(_handles(bindings))
    return found


def _handles(bindings: Bindings) -> Iterator[tuple[str, str]]:
    """Find the names of functions that import, by which nobody would know them elsewhere."""
    for name in bindings.by_name:
        for dotted in bindings.imported_as(name) & (HANDED_ON | KNOWN):
            if name != dotted and name not in IMPORTERS | _POINTS:
                yield name, dotted


class _Finder:
    def __init__(self, bindings: Bindings, reader: Reader, found: Dynamic) -> None:
        self._bindings = bindings
        self._reader = reader
        self._found = found
        self._parents = bindings.parents()

    def look(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Name | ast.Attribute):
            self._reference(node)
        elif isinstance(node, ast.List | ast.Tuple):
            self._command(node.elts, node.lineno)
        elif _takes_path(node):
            self._path_moves(node.lineno)
        elif isinstance(node, ast.Constant):
            self._constant(node)

    def _constant(self, node: ast.Constant) -> None:
        is_bare = isinstance(self._parents.get(id(node)), ast.Expr)
        text = "" if is_bare else text_of(node)
        if _PYTHON_RUNS.search(text):
            self._unknown(node.lineno, _ANOTHER, ANYTHING)
        elif _IMPORTS_ANY.search(text) and text not in _LOOKED_UP:
            self._unknown(
                node.lineno, "a string holds code, and what that imports is not told", ANYTHING
            )
        elif text in _LOOKED_UP or text.startswith(IN_C):
            self._unknown(node.lineno, f"{text!r} is looked up by name", ANYTHING)

    def _dotted(self, node: ast.expr) -> set[str]:
        """Give the full names that an expression can stand for, by the module's imports."""
        if isinstance(node, ast.Name):
            bound = self._bindings.is_bound(node.id)
            return self._bindings.imported_as(node.id) if bound else {node.id}
        if isinstance(node, ast.Attribute):
            found = {f"{owner}.{node.attr}" for owner in self._dotted(node.value)}
            return {_within(name) for name in found} if found else _named_by(node)
        return set()

    def _call(self, node: ast.Call) -> None:
        dotted = self._dotted(node.func)
        last = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if isinstance(node.func, ast.Name):
            last = node.func.id
        if dotted & BUILT_IN_IMPORT:
            self._built_in(node)
        elif dotted & ENTRY_POINTS or last in LOAD_POINTS or self._is_points(node, dotted):
            self._entry_points(node)
        elif dotted & BY_NAME or (last in IMPORTERS and not self._defines(node.func)):
            before = len(self._found.imports)
            self._by_name(node, is_guarded=bool(dotted & LOOKING) or self._is_guarded(node))
            if dotted & RUNNING:
                added = self._found.imports[before:]
                self._found.imports[before:] = [replace(one, runs_main=True) for one in added]
        elif last in LOADERS:
            self._unknown(node.lineno, "a loader is called", ANYTHING)
        for name in dotted & UNSAID.keys():
            self._unknown(node.lineno, UNSAID[name], ANYTHING)
        if dotted & _BY_ATTRIBUTE and any("sys" in self._dotted(one) for one in node.args[:1]):
            asked = self._reader.read(_argument(node, 1, "name"))
            if asked.prefixes or {f"sys.{value}" for value in asked.values} & PATHS:
                self._path_moves(node.lineno)
        self._hands(node, dotted)
        self._command(node.args, node.lineno)

    def _is_points(self, node: ast.Call, dotted: set[str]) -> bool:
        """Say whether entry points are looked up, whichever module brings the function."""
        named = {name.rpartition(".")[2] for name in dotted} & _POINTS
        return bool(named) and any(keyword.arg == "group" for keyword in node.keywords)

    def _hands(self, node: ast.Call, dotted: set[str]) -> None:
        """Deal with functions of Python that import what an argument names."""
        for name in dotted & GIVEN.keys():
            self._given(node, *GIVEN[name])
        if "logging.config.dictConfig" in dotted:
            self._configured(node)

    def _defines(self, called: ast.expr) -> bool:
        """Say whether the module defines the function itself; then its body is what counts."""
        name = called.id if isinstance(called, ast.Name) else ""
        binding = self._bindings.single(name)
        return binding is not None and binding.how == "other"

    def _is_guarded(self, node: ast.AST) -> bool:
        """Say whether a call stands in a `try` that expects a module not to be there."""
        around = self._parents.get(id(node))
        while around is not None and not isinstance(around, ast.FunctionDef | ast.Lambda):
            if isinstance(around, ast.Try | ast.TryStar) and expects_absence(around):
                return True
            around = self._parents.get(id(around))
        return False

    def _by_name(self, node: ast.Call, *, is_guarded: bool) -> None:
        target = _argument(node, 0, "name") or _argument(node, 0, "mod_name")
        strings = self._read(target, node.lineno)
        anchor = _argument(node, 1, "package")
        package = exactly("") if anchor is None else self._read(anchor, node.lineno)
        self._strings(node.lineno, strings, package, is_guarded=is_guarded)

    def _strings(self, line: int, strings: Strings, package: Strings, *, is_guarded: bool) -> None:
        for value in sorted(strings.values):
            bare, dots = leading_dots(value)
            anchors = package.values if dots else frozenset({""})
            if dots and package.prefixes:
                self._unknown(line, f"{value!r} is imported from a package unknown", ANYTHING)
            for anchor in sorted(anchors):
                target = absolute(bare, dots, anchor)
                if target is None:
                    what = f"{value!r} leads out of every package"
                    self._unknown(line, what, ANYTHING)
                else:
                    self._import(line, target, is_guarded=is_guarded)
        if strings.prefixes:
            self._unknown(
                line,
                "a module is imported by a name that is computed",
                Strings(prefixes=frozenset(_anchored(strings.prefixes, package))),
            )

    def _import(self, line: int, target: str, *, is_guarded: bool) -> None:
        # As in `module:Class`, or `module.Class`; what is no module of the two is left.
        module = target.partition(":")[0]
        if module:
            self._found.imports.append(
                Import(target=module, line=line, how="string", is_guarded=is_guarded)
            )

    def _given(self, node: ast.Call, place: int, name: str, is_list: bool) -> None:  # noqa: FBT001
        """Deal with a name that another function imports; one that is said is a mention."""
        given = _argument(node, place, name)
        binding = self._bindings.single(given.id) if isinstance(given, ast.Name) else None
        if given is None or (
            binding is not None and binding.how == "import" and not binding.attribute
        ):
            return  # a module itself, which is imported
        strings = self._reader.items(given) if is_list else self._reader.read(given)
        self._rely(node.lineno, strings)
        if strings.prefixes:
            what = "a module is imported by a name that is computed"
            self._unknown(node.lineno, what, Strings(prefixes=strings.prefixes))

    def _configured(self, node: ast.Call) -> None:
        """Deal with a configuration of logs, which names classes that are imported."""
        config = _argument(node, 0, "config")
        if config is None or not self._is_said(config, "", node.lineno):
            self._unknown(node.lineno, "a configuration that is computed names classes", ANYTHING)

    def _is_said(self, node: ast.expr, key: str, line: int, depth: int = 0) -> bool:
        """Say whether a part of a configuration tells in the source which classes it names."""
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            return all(
                (name is None or isinstance(name, ast.Constant))
                and self._is_said(value, "" if name is None else text_of(name), line, depth)
                for name, value in pairs
            )
        if isinstance(node, ast.List | ast.Tuple):
            return all(self._is_said(one, key, line, depth) for one in node.elts)
        if isinstance(node, ast.Constant) or key in _NAMES_NOTHING:
            return True
        binding = self._bindings.single(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(node, ast.Name) or binding is None or binding.value is None:
            return False
        uses = self._bindings.loads(node.id)
        if binding.how != "value" or depth > _NAMES_MAX or uses != [node]:
            return False
        if not self._bindings.is_local(binding):
            constant = Constant(self._bindings.module, node.id, in_place=True, is_deep=True)
            self._rely(line, Strings().read_from(constant))
        return self._is_said(binding.value, key, line, depth + 1)

    def _built_in(self, node: ast.Call) -> None:
        level_node = _argument(node, 4, "level")
        level = level_node.value if isinstance(level_node, ast.Constant) else None
        if level_node is None:
            level = 0
        names = _argument(node, 3, "fromlist")
        strings = self._read(_argument(node, 0, "name"), node.lineno)
        taken = Strings() if names is None else self._reader.items(names)
        self._rely(node.lineno, taken)
        if not isinstance(level, int) or strings.prefixes or taken.prefixes:
            reach = ANYTHING if level else strings
            what = "a module is imported by a name that is computed"
            self._unknown(node.lineno, what, reach if reach.prefixes else ANYTHING)
            return
        for value in sorted(strings.values):
            target = absolute(value, level, self._bindings.package)
            if target is None:
                self._unknown(node.lineno, f"{value!r} leads out of every package", ANYTHING)
                continue
            self._found.imports.append(
                Import(
                    target=target,
                    line=node.lineno,
                    names=tuple(sorted(taken.values)),
                    how="string",
                    is_guarded=self._is_guarded(node),
                )
            )

    def _entry_points(self, node: ast.Call) -> None:
        group = self._read(_argument(node, 0, "group"), node.lineno)
        if group.prefixes:
            self._unknown(node.lineno, "entry points of a group that is computed", ANYTHING)
        self._found.groups.extend((value, node.lineno) for value in sorted(group.values))

    def _command(self, parts: list[ast.expr], line: int) -> None:
        """Follow `python -m module`, started as a process of its own."""
        marks = [place for place, part in enumerate(parts) if text_of(part) == "-m"]
        for place in marks:
            if place + 1 < len(parts):
                strings = self._read(parts[place + 1], line)
                for value in sorted(strings.values):
                    if NAME.match(value):
                        self._found.imports.append(
                            Import(
                                target=value,
                                line=line,
                                how="command",
                                is_guarded=True,
                                runs_main=True,
                            )
                        )
                if strings.prefixes:
                    what = "a module is run as a command by a name that is computed"
                    self._unknown(line, what, Strings(prefixes=strings.prefixes))
        if not marks and any(self._is_python(part) for part in parts):
            self._unknown(line, _ANOTHER, ANYTHING)

    def _is_python(self, part: ast.expr) -> bool:
        if isinstance(part, ast.Constant):
            return _PYTHON.search(text_of(part)) is not None
        return "sys.executable" in self._dotted(part)

    def _reference(self, node: ast.Name | ast.Attribute) -> None:
        parent = self._parents.get(id(node))
        dotted = self._dotted(node)
        if isinstance(node, ast.Name) and node.id == "__builtins__":
            self._unknown(node.lineno, "built-in functions are looked up", ANYTHING)
        last = node.id if isinstance(node, ast.Name) else node.attr
        if last.startswith(IN_C):
            self._unknown(node.lineno, "Python's own functions are called from C", ANYTHING)
        is_called = isinstance(parent, ast.Call) and parent.func is node
        if (
            last == "entry_points"
            and isinstance(node, ast.Attribute)
            and not dotted
            and not is_called
        ):
            self._unknown(node.lineno, "entry points of a distribution are looked up", ANYTHING)
        if (last == "__path__" and _is_changed(node, parent)) or (
            dotted & PATHS and (_is_changed(node, parent) or _is_let_go(node, parent))
        ):
            self._path_moves(node.lineno)
        if last == "__package__" and not isinstance(node.ctx, ast.Load):
            self._unknown(node.lineno, "what relative names begin from is changed", ANYTHING)
        # What an object of these does, nobody follows.
        held = isinstance(parent, ast.Attribute) and not dotted & UNSAID.keys()
        if held or (isinstance(parent, ast.Call) and parent.func is node):
            return
        is_used = isinstance(node.ctx, ast.Load) and not self._is_annotation(node)
        # Those that are known by their own name are so wherever they come from.
        known = {name for name in dotted if name in KNOWN or name.rpartition(".")[2] in IMPORTERS}
        known |= dotted & HANDED_ON
        if is_used and known:
            name = min(known)
            self._unknown(node.lineno, f"`{name}` is handed on", ANYTHING)

    def _read(self, node: ast.expr | None, line: int) -> Strings:
        found = self._reader.read(node)
        self._rely(line, found)
        return found

    def _rely(self, line: int, strings: Strings) -> None:
        self._found.relied.extend(relied_of(strings, line))

    def _is_annotation(self, node: ast.AST) -> bool:
        """Say whether a name stands in an annotation, where nobody calls it."""
        around = self._parents.get(id(node))
        while around is not None:
            if node in (getattr(around, "annotation", None), getattr(around, "returns", None)):
                return True
            node, around = around, self._parents.get(id(around))
        return False

    def _path_moves(self, line: int) -> None:
        self._unknown(line, "where modules are found is changed", ANYTHING)

    def _unknown(self, line: int, what: str, reach: Strings) -> None:
        self._found.unknown.append(
            Unknown(
                module=self._bindings.module,
                line=line,
                what=what,
                names=tuple(sorted(reach.values)),
                prefixes=tuple(sorted(reach.prefixes)),
            )
        )


def _within(name: str) -> str:
    """Give a name that the last two of its words are enough for, as in `logging.os.path`."""
    last = ".".join(name.rsplit(".", 2)[-2:])
    return last if last in WITHIN else name


def _named_by(node: ast.Attribute) -> set[str]:
    """Give the name that the end of an expression is, whatever object it begins with."""
    owner = node.value.attr if isinstance(node.value, ast.Attribute) else ""
    return {f"{owner}.{node.attr}"} & WITHIN


def relied_of(strings: Strings, line: int) -> Iterator[Relied]:
    """Name the constants that strings were read from, if that says anything."""
    for one in sorted(() if "" in strings.prefixes else strings.relied):
        yield Relied(
            line=line,
            home=one.module,
            name=one.name,
            in_place=one.in_place,
            is_deep=one.is_deep,
        )


def _takes_path(node: ast.AST) -> TypeGuard[ast.ImportFrom]:
    """Say whether a statement takes out of `sys` what decides where modules are found."""
    return (
        isinstance(node, ast.ImportFrom)
        and node.module == "sys"
        and not node.level
        and any(f"sys.{alias.name}" in PATHS for alias in node.names)
    )


def _argument(node: ast.Call, place: int, name: str) -> ast.expr | None:
    """Find an argument by place or name; an unpacked one counts as given, and says nothing."""
    for number, argument in enumerate(node.args[: place + 1]):
        if isinstance(argument, ast.Starred):
            return argument
        if number == place:
            return argument
    for keyword in node.keywords:
        if keyword.arg == name:
            return keyword.value
        if keyword.arg is None:
            return ast.Starred(keyword.value)
    return None


def _anchored(prefixes: frozenset[str], package: Strings) -> Iterator[str]:
    for prefix in prefixes:
        bare, dots = leading_dots(prefix)
        if not dots:
            yield prefix
            continue
        if package.prefixes:
            yield ""
        for anchor in package.values:
            base = absolute("", dots, anchor)
            yield f"{base}.{bare}" if base else ""


def _is_changed(node: ast.Name | ast.Attribute, parent: ast.AST | None) -> bool:
    """Say whether a list is assigned, or changed in its place."""
    if not isinstance(node.ctx, ast.Load):
        return True
    if isinstance(parent, ast.Attribute):
        return parent.attr in MUTATORS
    return isinstance(parent, ast.Subscript) and not isinstance(parent.ctx, ast.Load)


def _is_let_go(node: ast.expr, parent: ast.AST | None) -> bool:
    """Say whether a list is handed to somebody who might change it."""
    if isinstance(parent, ast.Call):
        return not (isinstance(parent.func, ast.Name) and parent.func.id in READERS)
    if isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr):
        return parent.value is node
    return isinstance(parent, ast.Return)
