"""The import statements of a module, wherever they stand. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from perdure.closure.facts import Import, Unknown
from perdure.closure.relative import absolute

FLAG = "TYPE_CHECKING"
TYPING = frozenset({"typing", "typing_extensions"})
_ABSENCE = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


@dataclass(frozen=True)
class _Context:
    is_guarded: bool = False
    is_executed: bool = True


def statements(
    tree: ast.Module, module: str, package: str, flags: Flags
) -> Iterator[Import | Unknown]:
    """Find every import statement: in functions, branches and `try` blocks too.

    What stands under `if TYPE_CHECKING` is marked as not executed. A branch that is never taken for
    any other reason counts as executed.
    """
    waiting: list[tuple[ast.AST, _Context]] = [(tree, _Context())]
    while waiting:
        node, context = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _read(node, context, module, package)
        else:
            waiting.extend(_inside(node, context, flags))


def _read(
    node: ast.Import | ast.ImportFrom, context: _Context, module: str, package: str
) -> Iterator[Import | Unknown]:
    how = "import" if context.is_executed else "typing"
    if isinstance(node, ast.Import):
        targets: list[tuple[str | None, tuple[str, ...]]] = [(a.name, ()) for a in node.names]
    else:
        names = tuple(alias.name for alias in node.names)
        targets = [(absolute(node.module or "", node.level, package), names)]
    for target, names in targets:
        if target is not None:
            yield Import(
                target=target,
                line=node.lineno,
                names=names,
                how=how,
                is_guarded=context.is_guarded,
                is_executed=context.is_executed,
            )
        elif context.is_executed:
            what = "a relative import leads out of every package"
            yield Unknown(module=module, line=node.lineno, what=what, prefixes=("",))


def _inside(node: ast.AST, context: _Context, flags: Flags) -> Iterator[tuple[ast.AST, _Context]]:
    """Give the statements within a statement, each with what is known of where it stands."""
    body = others = handlers = context
    if isinstance(node, ast.If):
        truth = flags.truth(node.test)
        if truth is not None:
            never = replace(context, is_executed=False)
            body, others = (context, never) if truth else (never, context)
    elif isinstance(node, ast.Try | ast.TryStar):
        if expects_absence(node):
            # What stands in for a module that is not there may be missing itself.
            body = others = handlers = replace(context, is_guarded=True)
    elif isinstance(node, ast.With) and any(_suppresses(item.context_expr) for item in node.items):
        body = replace(context, is_guarded=True)
    for name, inner in (
        ("body", body),
        ("orelse", others),
        ("handlers", handlers),
        ("finalbody", context),
        ("cases", context),
    ):
        children = getattr(node, name, None)
        if isinstance(children, list):
            yield from ((child, inner) for child in children)


def expects_absence(node: ast.Try | ast.TryStar) -> bool:
    """Say whether a `try` goes on when a module is not there."""
    return any(_catches(handler.type) for handler in node.handlers)


def _catches(caught: ast.expr | None) -> bool:
    if caught is None:
        return True
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(isinstance(kind, ast.Name) and kind.id in _ABSENCE for kind in kinds)


def _suppresses(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name == "suppress" and any(_catches(kind) for kind in node.args)


class Flags:
    """What a module calls the flag that is true for type checkers only.

    `has_flag` says that its text has that word at all, and `typing` are the modules that have one
    which is false.
    """

    def __init__(
        self, tree: ast.Module, *, has_flag: bool = True, typing: frozenset[str] = TYPING
    ) -> None:
        self._names: set[str] = set()
        self._modules: set[str] = set()
        if not has_flag:
            return
        assigned: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module in typing and not node.level:
                self._names |= {a.asname or a.name for a in node.names if a.name == FLAG}
            elif isinstance(node, ast.Import):
                self._modules |= {a.asname or a.name for a in node.names if a.name in typing}
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                assigned.add(node.id)
        # `TYPE_CHECKING = False` is a custom too, but then nothing else may be assigned to it.
        if FLAG in assigned and _assigned_false(tree):
            self._names.add(FLAG)
            assigned.discard(FLAG)
        self._names -= assigned
        self._modules -= assigned

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the module has for it, and its name in the modules that bring it."""
        return tuple(sorted(self._names | ({FLAG} if self._modules else set())))

    def truth(self, test: ast.expr) -> bool | None:
        """Say what a condition is at run time, if that follows from the flag; else None."""
        if isinstance(test, ast.Name):
            return False if test.id in self._names else None
        if isinstance(test, ast.Attribute):
            owner = test.value
            known = isinstance(owner, ast.Name) and owner.id in self._modules
            return False if known and test.attr == FLAG else None
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.truth(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp):
            # `and` is false if a part of it is; `or` is true if a part of it is.
            deciding = isinstance(test.op, ast.Or)
            parts = [self.truth(value) for value in test.values]
            if deciding in parts:
                return deciding
            return None if None in parts else not deciding
        return None


def _assigned_false(tree: ast.Module) -> bool:
    values = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr)
        and any(
            isinstance(target, ast.Name) and target.id == FLAG
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        )
    ]
    return len(values) == 1 and isinstance(values[0], ast.Constant) and values[0].value is False
