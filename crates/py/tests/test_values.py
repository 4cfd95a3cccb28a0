"""What a guard judges of arguments and results: all that a tool or a model gets from them."""

from __future__ import annotations

import datetime
import io
import threading
from collections import deque
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import numpy
import pandas
import pydantic
import pytest

from lictor import Denied, Guard, Policy
from lictor.values import is_same, read_value

SECRET = "the falcon is at ann@example.org"

RULES = """
lictor: 1
name: values
facts:
  falcon: {on: tool_call, when: 'args.anywhere("text").exists(t, t.contains("falcon"))'}
  large: {on: tool_call(pay), when: args.amount > 100}
  urgent: {on: tool_call(pay), when: args.urgent == true}
properties:
  - {id: no-mail, formula: 'always !(tool_call("send") & carries("email"))', respond: block}
  - {id: no-mail-back, formula: 'always !(tool_result("fetch") & carries("email"))', respond: redact}
  - {id: small, formula: 'always !large', respond: block}
  - {id: calm, formula: 'always !urgent', respond: block}
"""


class Note(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")

    title: str = "note"
    text: str = pydantic.Field(default="", exclude=True)
    sender: str = pydantic.Field(default="", alias="from")
    _inner: str = pydantic.PrivateAttr(default="")

    def keep(self, inner: str) -> Note:
        self._inner = inner
        return self


class Shout(pydantic.BaseModel):
    words: str

    @pydantic.field_serializer("words")
    def write(self, words: str) -> str:
        return words.replace(" at ", "@")

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def doubled(self) -> str:
        return self.words * 2


class Locked(pydantic.BaseModel):
    key: pydantic.SecretStr


@dataclass
class Letter:
    title: str
    text: str = field(default="", repr=False)


class Slotted:
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Plain:
    def __init__(self, text: str) -> None:
        self.text = text


class Kind(Enum):
    LOUD = SECRET


def read(text: str) -> io.StringIO:
    file = io.StringIO(text)
    file.read()
    return file


HOLDING: Dict[str, Any] = {
    "excluded": Note(text=SECRET),
    "alias": Note(**{"from": SECRET}),
    "private": Note().keep(SECRET),
    "extra": Note(**{"more": SECRET}),
    "secret": Locked(key=pydantic.SecretStr(SECRET)),
    "serialized": Shout(words="ann at example.org"),
    "repr": Letter("note", SECRET),
    "slots": Slotted(SECRET),
    "plain": Plain(SECRET),
    "enum": Kind.LOUD,
    "set": {SECRET},
    "frozenset": frozenset([SECRET]),
    "bytes": SECRET.encode(),
    "bytearray": bytearray(SECRET.encode()),
    "file": read(SECRET),
    "binary": io.BytesIO(SECRET.encode()),
    "array": numpy.array([["x", SECRET]]),
    "objects": numpy.array([{"a": SECRET}], dtype=object),
    "table": pandas.DataFrame({"a": ["x", SECRET]}),
    "series": pandas.Series([SECRET]),
    "deque": deque([SECRET]),
    "values": {"a": SECRET}.values(),
    "same keys": {1: SECRET, "1": "x"},
    "odd keys": {("a", 1): SECRET},
    "key": {SECRET: 1},
    "inside": [{"a": (Letter("note", SECRET),)}],
}


@pytest.mark.parametrize("name", HOLDING)
def test_argument_is_judged_by_what_it_holds(name: str) -> None:
    guard, ran = Guard(Policy.parse(RULES)), []  # type: Guard, List[Any]
    with pytest.raises(Denied):
        guard.call("send", {"value": HOLDING[name]}, lambda value: ran.append(value))
    assert ran == []
    # Another tool gets the object itself.
    guard.call("note", {"value": HOLDING[name]}, lambda value: ran.append(value))
    assert ran[0] is HOLDING[name]


@pytest.mark.parametrize("name", [name for name in HOLDING if name != "key"])
def test_result_is_judged_by_what_it_holds(name: str) -> None:
    guard = Guard(Policy.parse(RULES))
    shown = guard.call("fetch", {}, lambda: HOLDING[name])
    assert shown is not HOLDING[name] and "ann@example.org" not in repr(shown)
    assert guard.call("other", {}, lambda: HOLDING[name]) is HOLDING[name]


def test_redacted_result_shows_no_hidden_field() -> None:
    guard = Guard(Policy.parse(RULES))
    note = Note(**{"title": SECRET, "text": "key 4711", "from": "ann"}).keep("key 4712")
    letter = Letter(SECRET, "key 4713")
    shown = guard.call("fetch", {}, lambda: {"notes": [note], "letter": letter})
    assert shown["letter"] == {"title": "the falcon is at [redacted]"}
    assert shown["notes"][0]["title"] == "the falcon is at [redacted]" and shown["notes"][0]["from"] == "ann"
    assert "471" not in repr(shown)


def test_file_is_read_and_wound_back(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_text("hello " + SECRET)
    with path.open() as file:
        file.read(6)
        assert read_value(file).value == "hello " + SECRET
        assert file.read() == SECRET


@pytest.mark.parametrize(
    "amount, is_large",
    [
        (Decimal("100.00"), False),
        (Decimal("100.01"), True),
        (2**80, True),
        (numpy.int64(101), True),
        (numpy.float32(99), False),
        (numpy.array(101), True),
    ],
)
def test_numbers_are_judged_as_numbers(amount: Any, is_large: bool) -> None:
    guard, ran = Guard(Policy.parse(RULES)), []  # type: Guard, List[Any]
    try:
        guard.call("pay", {"amount": amount, "urgent": False}, lambda amount, urgent: ran.append(amount))
    except Denied:
        assert is_large and ran == []
    else:
        assert not is_large and ran[0] is amount


def yields() -> Iterator[str]:
    yield SECRET


@pytest.mark.parametrize("value", [yields(), map(str, [1]), iter([1]), threading.Lock(), io.FileIO("/dev/null", "w")])
def test_unreadable_argument_is_unknown_and_not_consumed(value: Any) -> None:
    guard, ran = Guard(Policy.parse(RULES)), []  # type: Guard, List[Any]
    with pytest.warns(UserWarning, match="`pay` that the guard cannot read, which are unknown: urgent"):
        with pytest.raises(Denied) as denied:
            guard.call("pay", {"amount": 1, "urgent": value}, lambda **_: ran.append(1))
    assert [one.property for one in denied.value.decision.objections] == ["calm"] and ran == []
    # What no property asks for is passed on as it is.
    with pytest.warns(UserWarning, match="rows"):
        guard.call("pay", {"amount": 1, "urgent": False, "rows": value}, lambda rows, **_: ran.append(rows))
    assert ran[0] is value


def test_generator_reaches_the_tool_whole() -> None:
    guard = Guard(Policy.parse(RULES))
    with pytest.warns(UserWarning, match="rows.inner"):
        assert guard.call("count", {"rows": {"inner": yields()}}, lambda rows: len(list(rows["inner"]))) == 1


def test_value_that_holds_itself_is_unknown() -> None:
    loop: List[Any] = []
    loop.append(loop)
    deep: Any = "x"
    for _ in range(1000):
        deep = [deep]
    for value in (loop, deep):
        assert read_value({"a": value, "b": 1}) == ({"b": 1}, ["a"])


def test_result_with_a_stream_inside_is_refused() -> None:
    guard = Guard(Policy.parse(RULES))
    results: List[Tuple[Any, str]] = [
        ({"rows": yields()}, "rows"),
        ([yields()], "all of it"),
        (Letter("a", yields()), "text"),  # type: ignore[arg-type]
    ]
    for result, where in results:
        with pytest.raises(TypeError, match=where):
            guard.call("other", {}, lambda: result)


def test_approval_serves_no_call_with_unread_arguments() -> None:
    guard = Guard(Policy.parse("lictor: 1\nproperties: [{id: ask, formula: 'always !tool_call(\"pay\")', respond: ask}]"))

    def pay(rows: Any) -> Tuple[Any, ...]:
        return tuple(rows)

    for _ in range(2):
        with pytest.warns(UserWarning), pytest.raises(Denied) as denied:
            guard.call("pay", {"rows": yields()}, pay)
        guard.approve(denied.value.decision.waits_as or "")


def test_texts_of_times_and_others() -> None:
    moment = datetime.datetime(2026, 5, 1, 10, tzinfo=datetime.timezone.utc)
    read = read_value({"at": moment, "path": Path("/a"), "nan": float("nan"), "huge": 2**4000, "none": None})
    assert read.unread == [] and read.value["at"] == str(moment) and read.value["path"] == "/a"
    assert read.value["nan"] == "nan" and read.value["huge"] == hex(2**4000) and read.value["none"] is None


def test_rounded_numbers_are_the_same() -> None:
    assert is_same({"a": [Decimal("0.10000000000000001"), 2**80 + 1]}, {"a": [0.1, float(2**80)]})
    for read, back in ((1, True), ({"a": 1}, {}), ([1], [1, 2]), ("a", "b"), (1, 2)):
        assert not is_same(read, back)
