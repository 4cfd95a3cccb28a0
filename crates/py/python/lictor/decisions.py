"""What a guard decided about an event, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple

from .findings import Finding
from .verdicts import Action, Response, Severity


@dataclass(frozen=True)
class Objection:
    """A property that stands against an event."""

    property: str
    severity: Severity
    response: Response
    #: What is broken; none where nobody can tell.
    finding: Optional[Finding]
    #: Who allowed the event in spite of it.
    waived_by: Optional[str]


@dataclass(frozen=True)
class Redaction:
    """Something that was taken out: where, and what."""

    path: str
    what: str


@dataclass(frozen=True)
class Decision:
    """What a guard decided about an event."""

    action: Action
    session: str
    kind: str
    tool: Optional[str]
    #: The number of the event in the accepted trace, from one; none if it is not part of it.
    step: Optional[int]
    objections: Tuple[Objection, ...]
    redactions: Tuple[Redaction, ...]
    #: The event as it goes on, if it was rewritten.
    rewritten: Optional[Dict[str, Any]]
    #: What the model is told.
    message: Optional[str]
    #: By which id a person answers, with an event `approval` or `denial`.
    waits_as: Optional[str]
    #: Why it was refused other than by a property.
    refused: Optional[str]
    #: What had waited and was decided along with this.
    settled: Tuple[Decision, ...]
    #: All of it, as JSON has it.
    data: Dict[str, Any] = field(repr=False, compare=False)

    @property
    def goes_on(self) -> bool:
        """Whether the event takes effect, as it was or rewritten."""
        return self.action.goes_on

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> Decision:
        """The decision of a JSON object, as `lictor guard` prints it."""
        objections = (
            Objection(
                property=objection["property"],
                severity=Severity(objection["severity"]),
                response=Response(objection["response"]),
                finding=Finding.from_dict(objection["finding"]) if "finding" in objection else None,
                waived_by=objection.get("waived_by"),
            )
            for objection in data.get("objections", ())
        )
        return cls(
            action=Action(data["action"]),
            session=data["session"],
            kind=data["kind"],
            tool=data.get("tool"),
            step=data.get("step"),
            objections=tuple(objections),
            redactions=tuple(Redaction(entry["path"], entry["what"]) for entry in data.get("redactions", ())),
            rewritten=data.get("rewritten"),
            message=data.get("message"),
            waits_as=data.get("waits_as"),
            refused=data.get("refused"),
            settled=tuple(cls.from_dict(entry) for entry in data.get("settled", ())),
            data=data,
        )
