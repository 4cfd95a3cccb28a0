"""Verdicts, actions and the like, as enums.

Every member is also a string: it can be compared with one, printed, and written as JSON.
"""

from __future__ import annotations

from enum import Enum


class _Word(str, Enum):
    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, form: str) -> str:
        return format(str(self.value), form)


class Verdict(_Word):
    """The verdict of a formula on a trace so far.

    >>> Verdict.VIOLATED == "violated"
    True
    >>> print(max([Verdict.SATISFIED, Verdict.INCONCLUSIVE], key=Verdict.badness))
    inconclusive
    """

    SATISFIED = "satisfied"
    INCONCLUSIVE = "inconclusive"
    VIOLATED = "violated"

    @property
    def is_definite(self) -> bool:
        """Whether it is satisfied or violated; such a verdict never changes."""
        return self is not Verdict.INCONCLUSIVE

    def badness(self) -> int:
        """Returns a number that orders verdicts: the worst has the largest."""
        return ("satisfied", "inconclusive", "violated").index(self.value)


class Action(_Word):
    """The action of a guard on an event."""

    FORWARD = "forward"
    STEER = "steer"
    REDACT = "redact"
    ASK = "ask"
    BLOCK = "block"

    @property
    def takes_effect(self) -> bool:
        """Whether the event takes effect.

        >>> [action.name for action in Action if action.takes_effect]
        ['FORWARD', 'STEER', 'REDACT']
        """
        return self in (Action.FORWARD, Action.STEER, Action.REDACT)


class Response(_Word):
    """The response of a property when it is broken."""

    OBSERVE = "observe"
    WARN = "warn"
    STEER = "steer"
    REDACT = "redact"
    ASK = "ask"
    BLOCK = "block"


class Severity(_Word):
    """The severity of a violation."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Decided(_Word):
    """What decided a finding: an event, a deadline, or the end of the session."""

    EVENT = "event"
    DEADLINE = "deadline"
    END = "end"
