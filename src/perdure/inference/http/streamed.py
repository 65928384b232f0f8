"""A reply that comes in pieces: put together again, and told while it grows.

What is put together is what the endpoint would have sent in one body, and is read like one. Where
that cannot be done, or the pieces end before they say why they end, there is no reply.
"""

from __future__ import annotations

from typing import Any

import msgspec

from perdure.inference.http.events import EventReader, ServerEvent
from perdure.inference.http.key import Key
from perdure.inference.http.reply import Asked, read_calls_of
from perdure.inference.http.strict import NotStrictError, strict_tree
from perdure.inference.http.tools import CALLS_MAX, whole_arguments
from perdure.inference.telling import OnIncrement
from perdure.records.increment import Asked as AskedFor
from perdure.records.increment import Said
from perdure.records.request import Failure, FailureCause

_DONE = b"[DONE]"
_ERROR = b"error"
_OK = 200
# How many times its own size a reply may measure as a stream: each word comes in an event.
_OVERHEAD = 32
# How a reply ends that has all of its calls.
_WHOLE = frozenset({"stop", "tool_calls", "function_call"})

Tree = dict[str, Any]


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallPiece(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_CallPiece] | None = None
    function_call: Any = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    index: int | None = None
    finish_reason: str | None = None
    error: Any = None
    logprobs: Any = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    model: str | None = None
    usage: Any = None
    service_tier: Any = None
    error: Any = None


class _Call:
    """One call, as far as it has come."""

    __slots__ = ("_arguments", "id", "index", "is_open", "name", "place", "type")

    def __init__(self, index: int, place: int) -> None:
        self.index = index
        self.place = place
        self.id = self.name = ""
        self.type: str | None = None
        self._arguments: list[str] = []
        # Whether it is known that its arguments do not end yet.
        self.is_open = False

    @property
    def arguments(self) -> str:
        """Its arguments as far as they have come."""
        if len(self._arguments) > 1:
            self._arguments = ["".join(self._arguments)]
        return self._arguments[0] if self._arguments else ""

    def add(self, arguments: str) -> None:
        """Take a piece of its arguments in."""
        self._arguments.append(arguments)
        self.is_open = False

    def is_whole(self, *, has_ended: bool) -> bool:
        """Say whether its arguments are all there. None at all may still come."""
        if not self.arguments:
            return has_ended
        self.is_open = self.is_open or not _is_object(self.arguments)
        return not self.is_open

    def tree(self) -> Tree:
        """Give it as a whole body has it."""
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": self.type, "function": function}


class _BadPieceError(Exception):
    """The pieces do not make a reply. Never leaves this file."""


class StreamedChat:
    """Takes the bytes of a stream in, and comes to what a whole body would have been."""

    def __init__(
        self,
        on_increment: OnIncrement,
        *,
        asked: Asked,
        key: Key,
        bytes_max: int,
    ) -> None:
        """Tell each piece of text and each whole call; hold at most so many bytes."""
        self._tell = on_increment
        self._asked = asked
        self._key = key
        self._bytes_max = bytes_max
        self._events = EventReader()
        self._held = self._taken = 0
        self._is_done = False
        self._parts: dict[str, list[str]] = {}
        self._calls: list[_Call] = []
        self._told = 0
        self._unsaid = ""
        self._choice: Tree = {}
        self._tree: Tree = {}
        self.failure: Failure | None = None

    def feed(self, chunk: bytes) -> bool:
        """Take bytes in. True when nothing more is needed: the reply is whole, or there is none."""
        for event in self._events.feed(chunk):
            self._take(event)
            if self.is_over:
                break
        self._taken += len(chunk)
        held = max(self._held, self._events.pending, self._taken // _OVERHEAD)
        if self.failure is None and held > self._bytes_max:
            self.failure = Failure(cause=FailureCause.REPLY_TOO_LARGE, status=_OK)
        return self.is_over

    @property
    def is_over(self) -> bool:
        """Whether the reply is whole, or there is none."""
        return self._is_done or self.failure is not None

    def end(self) -> Tree | Failure:
        """Give the reply as the tree of a whole body; a failure if it was cut or is none.

        A stream that says why it ends is whole, even if it does not say that it is done.
        """
        if self.failure is not None:
            return self.failure
        if "error" in self._tree:
            return self._tree
        if self._events.ended_with(_DONE):
            self._is_done = True
        if self._choice.get("finish_reason") is None:
            # What is no stream at all was not cut: it is judged as in one piece.
            is_cut = not self._events.is_foreign
            cause = FailureCause.TRANSPORT if is_cut else FailureCause.BAD_REPLY
            return Failure(cause=cause, status=_OK)
        self._say("", is_last=True)
        message: Tree = {name: "".join(parts) for name, parts in self._parts.items()}
        if self._calls:
            message["tool_calls"] = [call.tree() for call in self._calls]
        if "function_call" in self._choice:
            message["function_call"] = self._choice.pop("function_call")
        return {**self._tree, "choices": [{**self._choice, "message": message}]}

    @property
    def usage(self) -> Any:
        """What was reported as used, so far."""
        return self._tree.get("usage")

    def _take(self, event: ServerEvent) -> None:
        if event.data.strip() == _DONE:
            self._is_done = True
            return
        try:
            tree = strict_tree(event.data)
            if event.name == _ERROR and isinstance(tree, dict) and tree.get("error") is None:
                tree = {"error": tree}
            self._add(msgspec.convert(tree, _Chunk))
        except (NotStrictError, msgspec.ValidationError, _BadPieceError):
            self.failure = Failure(cause=FailureCause.BAD_REPLY, status=_OK)

    def _add(self, chunk: _Chunk) -> None:
        for name in ("usage", "service_tier"):
            if (value := getattr(chunk, name)) is not None:
                self._tree[name] = value
        if chunk.model and self._tree.setdefault("model", chunk.model) != chunk.model:
            raise _BadPieceError
        if chunk.error is not None:
            self._break(chunk.error)
        elif chunk.choices:
            (choice,) = chunk.choices if len(chunk.choices) == 1 else (None,)
            if choice is None or choice.index not in {None, 0}:
                raise _BadPieceError
            self._add_choice(choice)

    def _break(self, error: object) -> None:
        self._tree = {"error": error, "usage": self._tree.get("usage")}
        self._is_done = True

    def _add_choice(self, choice: _Choice) -> None:
        if choice.error is not None or choice.finish_reason == "error":
            self._break(choice.error or {})
            return
        delta = choice.delta or _Delta()
        had_ended = self._choice.get("finish_reason") is not None
        says = bool(delta.content or delta.refusal or delta.tool_calls or delta.function_call)
        if had_ended and says:
            raise _BadPieceError
        for name in ("content", "refusal"):
            if (text := getattr(delta, name)) is not None:
                self._parts.setdefault(name, []).append(text)
                self._held += len(text)
                self._say(text)
        for piece in delta.tool_calls or ():
            self._add_call(piece)
        if delta.function_call is not None:
            self._choice["function_call"] = delta.function_call
        if choice.logprobs is not None:
            self._choice.setdefault("logprobs", choice.logprobs)
        reason = choice.finish_reason
        if reason is not None and self._choice.setdefault("finish_reason", reason) != reason:
            raise _BadPieceError
        self._tell_calls()

    def _add_call(self, piece: _CallPiece) -> None:
        call = self._call_of(piece)
        call.type = call.type or piece.type
        call.id = call.id or piece.id or ""
        function = piece.function or _Function()
        # A name comes once; some say it again with every piece.
        if function.name and function.name != call.name:
            call.name += function.name
        arguments = function.arguments
        if isinstance(arguments, dict):
            if call.arguments:
                raise _BadPieceError
            arguments = whole_arguments(arguments)
        if not arguments:
            return
        if call.place < self._told and arguments.strip():
            raise _BadPieceError  # it was told as whole
        call.add(arguments)
        self._held += len(arguments)

    def _call_of(self, piece: _CallPiece) -> _Call:
        """Find the call that a piece belongs to, or begin it.

        It is told by its index; where that is missing or always the same, by its id.
        """
        last = self._calls[-1] if self._calls else None
        index = piece.index
        if index is None:
            if last is not None and (not piece.id or piece.id == last.id):
                return last
            index = 0 if last is None else last.index
        else:
            for call in reversed(self._calls):
                if call.index == index and (not piece.id or piece.id == (call.id or piece.id)):
                    return call
        if last is not None and index < last.index:
            raise _BadPieceError
        if len(self._calls) == CALLS_MAX:
            raise _BadPieceError
        self._calls.append(_Call(index, len(self._calls)))
        return self._calls[-1]

    def _tell_calls(self) -> None:
        """Tell the calls that are whole: another one has begun, or the reply has ended well."""
        if not self._asked.tools or self._told == len(self._calls):
            return
        has_ended = self._choice.get("finish_reason") in _WHOLE
        first, known = self._told, len(self._calls) if has_ended else len(self._calls) - 1
        while self._told < known and self._calls[self._told].is_whole(has_ended=has_ended):
            self._told += 1
        if self._told == first:
            return
        trees = [call.tree() for call in self._calls[: self._told]]
        calls = read_calls_of(trees, self._asked, self._key)
        if calls is None:
            raise _BadPieceError
        for index in range(first, self._told):
            self._tell(AskedFor(index=index, call=calls[index]))

    def _say(self, text: str, *, is_last: bool = False) -> None:
        """Tell text, and hold back what may be the beginning of the key or half a character."""
        text = self._unsaid + text
        held = 0 if is_last else max(_half(text), self._key.begun_in(text))
        cut = len(text) - held
        text, self._unsaid = text[:cut], text[cut:]
        if text:
            self._tell(Said(text=self._key.scrub(_joined(text))))


def joined(tree: Any) -> Any:
    """Give a tree whose texts are whole: halves of a character that came apart are put together."""
    if isinstance(tree, str):
        return _joined(tree)
    if isinstance(tree, dict):
        return {joined(key): joined(item) for key, item in tree.items()}
    if isinstance(tree, list):
        return [joined(item) for item in tree]
    return tree


def _joined(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _half(text: str) -> int:
    """Say how much of the end of a text is half a character."""
    return int(bool(text) and "\ud800" <= text[-1] <= "\udbff")


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(strict_tree(arguments.encode("utf-8", "surrogatepass")), dict)
    except NotStrictError:
        return False
