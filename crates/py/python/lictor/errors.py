"""What goes wrong. Every message says what the command line says: where, what, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Tuple, Type

if TYPE_CHECKING:
    from .decisions import Decision


class LictorError(Exception):
    """Something of Lictor went wrong."""


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
    """A policy cannot be used; the message says all that is wrong with it."""


class EventError(LictorError, ValueError):
    """Something is no event, or no position of a trace."""


class AuditError(LictorError):
    """Logs could not be judged."""


class StateError(LictorError):
    """It is too late for what was asked, or it was asked of the wrong object."""


class LogError(LictorError):
    """The log of a guard cannot be opened or written. Nothing goes on that is not written down."""


class ToolError(LictorError):
    """A tool failed, and said something that the policy takes out; the message is the rest."""


class Denied(LictorError):
    """A guard did not let a step go on. The message is what the model should be told."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.message or "This step was not carried out.")
        #: What was decided, and why.
        self.decision = decision

    def __reduce__(self) -> Tuple[Type[Denied], Tuple[Decision]]:
        # Exceptions are made again of their message, which is not what this one is made of.
        return type(self), (self.decision,)
