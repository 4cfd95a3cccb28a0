"""Exceptions. Their messages are those of the command line: the place, the mistake, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Tuple, Type

if TYPE_CHECKING:
    from .decisions import Decision


class LictorError(Exception):
    """The base of all exceptions of Lictor."""


class FormulaError(LictorError, ValueError):
    """A formula cannot be read or monitored; the message shows the place.

    >>> import lictor
    >>> try:
    ...     lictor.Formula.parse("alwyas a")
    ... except lictor.FormulaError as error:
    ...     print("did you mean `always`" in str(error))
    True
    """


class PolicyError(LictorError, ValueError):
    """A policy cannot be used; the message lists all mistakes."""


class EventError(LictorError, ValueError):
    """A value is no valid event, or no valid position of a trace."""


class AuditError(LictorError):
    """Logs could not be judged."""


class StateError(LictorError):
    """An object is in the wrong state for a call, or belongs to another object."""


class ForecastError(LictorError, ValueError):
    """A chain cannot be read or learnt, or cannot forecast what is asked for."""


class LogError(LictorError):
    """The log of a guard cannot be opened or written. An event without a record does not take effect."""


class ToolError(LictorError):
    """A tool failed with a message that the policy redacts; this message is the redacted one."""


class Denied(LictorError):
    """A guard denied a step. The message is for the model."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.message or "This step was not carried out.")
        #: The decision, with its reasons.
        self.decision = decision

    def __reduce__(self) -> Tuple[Type[Denied], Tuple[Decision]]:
        # By default an exception is unpickled from its message; this one needs its decision.
        return type(self), (self.decision,)


class UndecidedWarning(UserWarning):
    """A trace breaks no property, but it is undecided whether it complies."""


class UnexercisedWarning(UserWarning):
    """A trace breaks no property, but nothing occurs in it that could."""
