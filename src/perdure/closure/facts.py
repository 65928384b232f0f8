"""What a module's source says of its imports, before anything is looked up."""

from __future__ import annotations

from perdure.records.record import Record


class Import(Record):
    """A module that is imported by name. `target` is absolute; `names` are taken from it.

    `how` is a word for people: import, string, command, typing, declared. `is_guarded` means that
    its absence is expected; `is_executed` is false for what only a type checker sees; `runs_main`
    that of a package it is the `__main__` that is run.
    """

    target: str
    line: int
    names: tuple[str, ...] = ()
    how: str = "import"
    is_guarded: bool = False
    is_executed: bool = True
    runs_main: bool = False


class Unknown(Record):
    """An import whose target the source does not say.

    It may reach the modules in `names`, and every module whose name begins with one of `prefixes`;
    the empty prefix is anything at all.
    """

    module: str
    line: int
    what: str
    names: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()


class Relied(Record):
    """A constant that an import was read from: a name of the module `home`, or of any for "".

    `in_place` says that it is a collection, which can also change without being bound again;
    `is_deep` that it holds others, which whoever sees it can change.
    """

    line: int
    home: str
    name: str
    in_place: bool = False
    is_deep: bool = False


class Mention(Record):
    """A string that could be the name of a module, wherever it is used."""

    text: str
    line: int


class Facts(Record):
    """All that a module's source says.

    `exports` is its `__all__`, None if it has none; `exports_open` if it cannot be told. `groups`
    are entry-point groups that are looked up, with their lines. `relied` are the constants that all
    this was read from, `exports_relied` those of its `__all__`.
    `handles` are the names that it has for functions that import, each with the function.
    """

    imports: tuple[Import, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    mentions: tuple[Mention, ...] = ()
    groups: tuple[tuple[str, int], ...] = ()
    exports: tuple[str, ...] | None = None
    exports_open: bool = False
    relied: tuple[Relied, ...] = ()
    exports_relied: tuple[Relied, ...] = ()
    handles: tuple[tuple[str, str], ...] = ()
