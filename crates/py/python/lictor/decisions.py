"""Decisions of a guard on events, with their reasons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple

from .findings import Finding
from .verdicts import Action, Response, Severity


@dataclass(frozen=True)
class Objection:
    """A property that objects to an event."""

    property: str
    severity: Severity
    response: Response
    #: The finding; none if it is unknown whether the event breaks the property.
    finding: Optional[Finding]
    #: The person who allowed the event despite the objection.
    waived_by: Optional[str]


@dataclass(frozen=True)
class Redaction:
    """A redacted part of an event: where, and what."""

    path: str
    what: str


@dataclass(frozen=True)
class Decision:
    """The decision of a guard on an event."""

    action: Action
    session: str
    kind: str
    tool: Optional[str]
    #: The number of the event in the accepted trace, from one; none if it is not part of it.
    step: Optional[int]
    objections: Tuple[Objection, ...]
    redactions: Tuple[Redaction, ...]
    #: The rewritten event, if it was rewritten.
    rewritten: Optional[Dict[str, Any]]
    #: The message for the model.
    message: Optional[str]
    #: The id of the pending approval; an event `approval` or `denial` with it answers.
    waits_as: Optional[str]
    #: The reason for a refusal that is not from a property.
    refused: Optional[str]
    #: The pending calls that this event settled.
    settled: Tuple[Decision, ...]
    #: The whole decision as a JSON object.
    data: Dict[str, Any] = field(repr=False, compare=False)

    @property
    def takes_effect(self) -> bool:
        """Whether the event takes effect, as it was or rewritten."""
        return self.action.takes_effect

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> Decision:
        """Returns the decision of a JSON object, as `lictor guard` prints it."""
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
