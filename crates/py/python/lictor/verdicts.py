"""Verdicts, actions and the like, as enums.

Every member is a text as well, so that it can be compared with one, printed, and written as JSON.
"""

from __future__ import annotations

from enum import Enum


class _Word(str, Enum):
    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, form: str) -> str:
        return format(str(self.value), form)


class Verdict(_Word):
    """What a trace so far says about a formula.

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
        """Satisfied or violated; it never changes again."""
        return self is not Verdict.INCONCLUSIVE

    def badness(self) -> int:
        """A number by which the worst of several verdicts is their maximum."""
        return ("satisfied", "inconclusive", "violated").index(self.value)


class Action(_Word):
    """What a guard does with an event."""

    FORWARD = "forward"
    STEER = "steer"
    REDACT = "redact"
    ASK = "ask"
    BLOCK = "block"

    @property
    def goes_on(self) -> bool:
        """Whether the event takes effect.

        >>> [action.name for action in Action if action.goes_on]
        ['FORWARD', 'STEER', 'REDACT']
        """
        return self in (Action.FORWARD, Action.STEER, Action.REDACT)


class Response(_Word):
    """What a property asks for when it is broken."""

    OBSERVE = "observe"
    WARN = "warn"
    STEER = "steer"
    REDACT = "redact"
    ASK = "ask"
    BLOCK = "block"


class Severity(_Word):
    """How bad a violation is."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Decided(_Word):
    """When a finding was decided: by an event, by time that passed, or by the end of the session."""

    EVENT = "event"
    DEADLINE = "deadline"
    END = "end"
