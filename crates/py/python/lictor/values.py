"""Values as the guard judges them: all that a tool can get from its arguments, and a model from a result.

A value is read by what it holds, not by how it prints or serializes itself: a field that a model of pydantic leaves out of its
dump is still a field that the tool reads. Nothing is consumed: a generator is not read, a file is read and wound back.
"""

from __future__ import annotations

import array
import collections
import collections.abc
import contextlib
import dataclasses
import datetime
import decimal
import enum
import fractions
import inspect
import io
import json
import pathlib
import types
import uuid
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Set, Tuple

#: Values that are known by their text.
_TEXTS = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    datetime.tzinfo,
    uuid.UUID,
    pathlib.PurePath,
    complex,
    fractions.Fraction,
)

#: Code rather than data.
_CODE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)

#: Values that are listed.
_LISTS = (list, tuple, collections.deque, collections.abc.KeysView, collections.abc.ValuesView, collections.abc.ItemsView, range)

#: The deepest nesting that is read; JSON beyond 128 levels is refused.
_MAX_DEPTH = 100

#: The most values of one argument or result that are read.
_MAX_VALUES = 1_000_000

#: The most bytes or characters of a file that are read.
_MAX_FILE = 16 * 1024 * 1024

#: The most bits of a whole number, and the largest power of ten, that a float could come near.
_MAX_BITS, _MAX_POWER = 1000, 300

#: Members of an instance of pydantic that hold fields.
_PYDANTIC = ("__pydantic_extra__", "__pydantic_private__")


class Reading(NamedTuple):
    """A value as it is judged."""

    #: The value in types of JSON, with exact decimals. It lacks the members that cannot be read.
    value: Any
    #: The members that cannot be read, by their paths; one that is empty is the value itself.
    unread: List[str]


class _Unread(Exception):
    """A value cannot be read. The nearest member that has a name is left out."""


def read_value(value: Any, *, shows: bool = False) -> Reading:
    """Returns a value as it is judged. With `shows`, the value is shown to a model: what is inside an object is then known by
    the text of the object if it cannot be read."""
    reader = _Reader(shows)
    try:
        return Reading(reader.read(value, ""), reader.unread)
    except _Unread:
        return Reading(None, [*reader.unread, ""])


def is_same(read: Any, back: Any) -> bool:
    """Whether a value that was read comes back unchanged. JSON of Python holds no exact decimals, so numbers may be rounded."""
    if isinstance(read, (int, float, decimal.Decimal)) and isinstance(back, (int, float)):
        return isinstance(read, bool) == isinstance(back, bool) and float(read) == float(back)
    if isinstance(read, dict) and isinstance(back, dict):
        return read.keys() == back.keys() and all(is_same(read[key], back[key]) for key in read)
    if isinstance(read, list) and isinstance(back, list):
        return len(read) == len(back) and all(map(is_same, read, back))
    return bool(read == back)


def without_hidden(value: Any, allowed: Any) -> Any:
    """Returns the allowed form of a result without the members that the result does not show itself, such as fields that a
    model of pydantic leaves out of its dump: they were judged, and are not shown."""
    if isinstance(allowed, dict) and isinstance(value, Mapping):
        inner = {str(key): member for key, member in value.items()}
    elif isinstance(allowed, dict):
        inner = _members(value)
        hidden = _hidden(value, inner)
        allowed = {name: member for name, member in allowed.items() if name not in hidden}
    elif isinstance(allowed, list) and isinstance(value, (list, tuple)) and len(allowed) == len(value):
        return [without_hidden(one, other) for one, other in zip(value, allowed)]
    else:
        return allowed
    return {name: without_hidden(inner[name], member) if name in inner else member for name, member in allowed.items()}


class _Reader:
    """Reads one argument or result."""

    def __init__(self, shows: bool) -> None:
        self.unread: List[str] = []
        self._shows = shows
        #: The containers that are being read: a value that holds itself cannot be read.
        self._open: Set[int] = set()
        self._count = 0
        #: How many objects that are known by their attributes alone are being read.
        self._objects = 0

    def read(self, value: Any, path: str) -> Any:
        self._count += 1
        if self._count > _MAX_VALUES:
            raise _Unread
        if isinstance(value, enum.Enum):
            return self.read(value.value, path)
        if value is None or isinstance(value, (bool, str, int, float, decimal.Decimal, bytes, bytearray, memoryview)):
            return _scalar(value)
        if isinstance(value, (*_TEXTS, *_CODE)):
            return _text(str(value))
        if id(value) in self._open or len(self._open) >= _MAX_DEPTH:
            raise _Unread
        self._open.add(id(value))
        try:
            return self._container(value, path)
        finally:
            self._open.discard(id(value))

    def _container(self, value: Any, path: str) -> Any:
        if _is_file(value):
            return self.read(_file(value), path)
        if inspect.isawaitable(value) or hasattr(value, "__anext__") or isinstance(value, collections.abc.Iterator):
            raise _Unread
        if isinstance(value, Mapping):
            return self._mapping(value, path)
        if isinstance(value, (set, frozenset, collections.abc.Set)) and not isinstance(value, _LISTS):
            return sorted((self.read(item, path) for item in value), key=_order)
        if isinstance(value, (*_LISTS, array.array)):
            return [self.read(item, path) for item in value]
        listed = _listed(value)
        return self._object(value, path) if listed is None else self.read(listed, path)

    def _mapping(self, value: Mapping[Any, Any], path: str) -> Any:
        names = [_key(key) for key in value]
        # Two keys with one name would hide a member.
        if None in names or len(set(names)) < len(names):
            return [[self.read(key, path), self.read(member, path)] for key, member in value.items()]
        return self._named(zip(map(str, names), value.values()), path)

    def _named(self, members: Iterable[Tuple[str, Any]], path: str) -> Dict[str, Any]:
        read = {}
        for name, member in members:
            place = f"{path}.{name}" if path else name
            try:
                read[name] = self.read(member, place)
            except _Unread:
                if self._shows and self._objects:
                    read[name] = _text(_shown(member))
                else:
                    self.unread.append(place)
        return read

    def _object(self, value: Any, path: str) -> Any:
        members, text = _members(value), _own_text(value)
        if not members and (text is None or not self._shows):
            if hasattr(value, "__dict__"):
                return {} if text is None else _text(text)
            if not self._shows:
                raise _Unread
            return _text(_shown(value))
        is_plain = not (dataclasses.is_dataclass(value) or _is_model(value))
        self._objects += is_plain
        try:
            read = self._named(members.items(), path)
        finally:
            self._objects -= is_plain
        if text is not None:
            if not read:
                return _text(text)
            read.setdefault("str", _text(text))
        return read


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(str.__str__(value))
    if isinstance(value, int):
        # Python refuses to write very long numbers as decimals.
        return int(value) if value.bit_length() <= _MAX_BITS else hex(value)
    if isinstance(value, float):
        return float(value) if value - value == 0 else str(value)
    if isinstance(value, decimal.Decimal):
        is_number = value.is_finite() and abs(value.adjusted()) <= _MAX_POWER
        return decimal.Decimal(value) if is_number else str(value)
    return bytes(value).decode("utf-8", "backslashreplace")


def _text(text: str) -> str:
    """Returns a text as valid Unicode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _key(key: Any) -> Optional[str]:
    """Returns the name of a member; none if its key is no scalar."""
    if isinstance(key, enum.Enum):
        key = key.value
    if key is None or isinstance(key, (bool, str, int, float, decimal.Decimal, *_TEXTS)):
        return _text(json.dumps(key) if key is None or isinstance(key, bool) else str(key))
    return None


def _order(value: Any) -> str:
    return json.dumps(value, default=str, sort_keys=True)


def _is_file(value: Any) -> bool:
    names = ("read", "seek", "tell")
    return isinstance(value, io.IOBase) or all(callable(getattr(type(value), name, None)) for name in names)


def _file(value: Any) -> Any:
    """Returns the content of a file, which is wound back to where it was."""
    try:
        if not value.seekable():
            raise _Unread
        place = value.tell()
        value.seek(0)
        try:
            content = value.read(_MAX_FILE + 1)
        finally:
            value.seek(place)
    except _Unread:
        raise
    except Exception:
        raise _Unread from None
    if not isinstance(content, (str, bytes)) or len(content) > _MAX_FILE:
        raise _Unread
    return content


def _listed(value: Any) -> Any:
    """Returns the content of an array or a table as lists; none if it is neither."""
    kind = type(value)
    if callable(getattr(kind, "tolist", None)):
        return value.tolist()
    if kind.__module__.split(".")[0] == "pandas" and callable(getattr(kind, "to_dict", None)):
        return value.to_dict("split")
    return None


def _is_model(value: Any) -> bool:
    return callable(getattr(type(value), "model_dump", None)) or hasattr(type(value), "__fields__")


def _members(value: Any) -> Dict[str, Any]:
    """Returns all attributes that an object holds, and what it shows beside them, such as computed fields and aliases."""
    members: Dict[str, Any] = {}
    for kind in reversed(type(value).__mro__):
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__"):
                with contextlib.suppress(AttributeError):
                    members[name] = getattr(value, name)
    members.update({str(name): member for name, member in getattr(value, "__dict__", {}).items()})
    if _is_model(value):
        for name in _PYDANTIC:
            members.update(getattr(value, name, None) or {})
        dumped = _dump(value)
        if _serializes(value):
            members["model_dump"] = dumped
        members.update({name: member for name, member in dumped.items() if name not in members})
    return members


def _dump(value: Any) -> Dict[str, Any]:
    """Returns what a model of pydantic shows, by names and by aliases; nothing if it cannot be dumped."""
    dump, shown = getattr(value, "model_dump", None), {}  # type: Any, Dict[str, Any]
    for by_alias in (False, True):
        with contextlib.suppress(Exception):
            dumped = dump(mode="json", by_alias=by_alias) if dump is not None else value.dict(by_alias=by_alias)
            shown.update(dumped)
    return shown


def _serializes(value: Any) -> bool:
    """Whether the class of a model writes fields in its own way."""
    own = getattr(type(value), "__pydantic_decorators__", None)
    return bool(getattr(own, "field_serializers", None) or getattr(own, "model_serializers", None))


def _hidden(value: Any, members: Mapping[str, Any]) -> Set[str]:
    """Returns the names of the members that an object does not show itself."""
    if _is_model(value):
        return {name for name in members if name not in _dump(value)}
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else ()
    return {one.name for one in fields if not one.repr} | {name for name in members if name.startswith("_")}


def _own_text(value: Any) -> Optional[str]:
    """Returns the text of an object whose class writes one; none if it says nothing beside the members."""
    if dataclasses.is_dataclass(value) or _is_model(value):
        return None
    writes = any(getattr(type(value), name) is not getattr(object, name) for name in ("__str__", "__repr__"))
    return _shown(value) if writes else None


def _shown(value: Any) -> str:
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"
