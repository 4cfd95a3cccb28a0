"""Properties that a session breaks, and the events that prove it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .verdicts import Decided, Severity


@dataclass(frozen=True)
class Proof:
    """An event that matters for a finding."""

    step: int
    kind: str
    tool: Optional[str]
    #: Facts that matter and held.
    present: Tuple[str, ...]
    #: Facts that matter by not holding.
    absent: Tuple[str, ...]
    file: str
    line: int
    #: The session, if it differs from the finding's.
    session: Optional[str] = None
    time: Optional[str] = None
    #: The content of the event, shortened; only if content was requested.
    content: Optional[str] = None

    def __str__(self) -> str:
        tool = f" {self.tool}" if self.tool else ""
        facts = [f"holds: {fact}" for fact in self.present] + [f"missing: {fact}" for fact in self.absent]
        return f"step {self.step}, {self.kind}{tool}: {'; '.join(facts)}"


@dataclass(frozen=True)
class Finding:
    """A property that a session breaks, with the events that prove it."""

    property: str
    severity: Severity
    session: str
    #: The number of the deciding event in its session, from one.
    step: int
    decided: Decided
    kind: str
    tool: Optional[str]
    #: The values for which the property is broken.
    binding: Mapping[str, List[Any]]
    witness: Tuple[Proof, ...]
    file: str
    line: int
    #: The unmet obligation, if there is one.
    owed: Optional[str]
    #: The reason of the suppression that accepts it.
    suppressed: Optional[str]
    #: A hash that is equal for the same finding of a later run.
    fingerprint: str

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> Finding:
        """Returns the finding of a JSON object, as in reports."""
        proofs = (
            Proof(
                step=proof["step"],
                kind=proof["kind"],
                tool=proof.get("tool"),
                present=tuple(proof["present"]),
                absent=tuple(proof["absent"]),
                file=proof["file"],
                line=proof["line"],
                session=proof.get("session"),
                time=proof.get("time"),
                content=proof.get("content"),
            )
            for proof in data["witness"]
        )
        return cls(
            property=data["property"],
            severity=Severity(data["severity"]),
            session=data["session"],
            step=data["step"],
            decided=Decided(data["decided"]),
            kind=data["kind"],
            tool=data.get("tool"),
            binding=data["binding"],
            witness=tuple(proofs),
            file=data["file"],
            line=data["line"],
            owed=data.get("owed"),
            suppressed=data.get("suppressed"),
            fingerprint=data["fingerprint"],
        )

    def __str__(self) -> str:
        """Returns the property, where it was broken, and the witness below it."""
        by = f"step {self.step}" if self.decided is Decided.EVENT else f"{self.decided} after step {self.step}"
        values = "; ".join(f"{name} = {', '.join(map(str, values))}" for name, values in self.binding.items())
        lines = [f"{self.property} ({self.severity}) is broken in session {self.session!r} by {by}"]
        lines += [f"  for {values}"] if values else []
        lines += [f"  {proof}" for proof in self.witness]
        lines += [f"  owed: {self.owed}"] if self.owed else []
        return "\n".join(lines)
