"""Formula progression as in textbooks, in plain Python; the package is compared with it.

After each position a formula is rewritten into what must hold for the rest of the trace, with simplifying constructors.
It finds a violation only when the rewritten formula is `false` as it is written.
"""

from __future__ import annotations

from typing import AbstractSet, Dict, FrozenSet, Tuple

Formula = Tuple[object, ...]
TRUE: Formula = ("true",)
FALSE: Formula = ("false",)


def conjunction(parts: FrozenSet[Formula]) -> Formula:
    flat = set()
    for part in parts:
        if part[0] == "and":
            flat |= part[1]  # type: ignore[arg-type, operator]
        elif part != TRUE:
            flat.add(part)
    if FALSE in flat:
        return FALSE
    return TRUE if not flat else next(iter(flat)) if len(flat) == 1 else ("and", frozenset(flat))


def disjunction(parts: FrozenSet[Formula]) -> Formula:
    flat = set()
    for part in parts:
        if part[0] == "or":
            flat |= part[1]  # type: ignore[arg-type, operator]
        elif part != FALSE:
            flat.add(part)
    if TRUE in flat:
        return TRUE
    return FALSE if not flat else next(iter(flat)) if len(flat) == 1 else ("or", frozenset(flat))


def progress(formula: Formula, facts: AbstractSet[str]) -> Formula:
    """Returns what must hold for the rest, after a position with these facts. Only facts are negated."""
    kind = formula[0]
    if kind in ("true", "false"):
        return formula
    if kind == "fact":
        return TRUE if formula[1] in facts else FALSE
    if kind == "not":
        return FALSE if formula[1] in facts else TRUE
    if kind == "and":
        return conjunction(frozenset(progress(part, facts) for part in formula[1]))  # type: ignore[attr-defined]
    if kind == "or":
        return disjunction(frozenset(progress(part, facts) for part in formula[1]))  # type: ignore[attr-defined]
    operand: Formula = formula[1]  # type: ignore[assignment]
    if kind == "next":
        return operand
    if kind == "always":
        return conjunction(frozenset({progress(operand, facts), formula}))
    return disjunction(frozenset({progress(operand, facts), formula}))


def either(*parts: Formula) -> Formula:
    return ("or", frozenset(parts))


#: The four built-in properties.
FOUR: Dict[str, Formula] = {
    "tool_calls_are_verified": ("always", either(("not", "tool_call"), ("eventually", ("fact", "verification_passed")))),
    "handoff_is_coherence_checked": ("always", either(("not", "handoff"), ("next", ("fact", "coherence_check")))),
    "no_output_after_injection": ("always", either(("not", "injection_detected"), ("not", "output_emitted"))),
    "fact_claims_are_grounded": ("always", either(("not", "fact_claim"), ("eventually", ("fact", "evidence_retrieved")))),
}


class Progression:
    """Follows a trace with named formulas."""

    def __init__(self, formulas: Dict[str, Formula]) -> None:
        self.formulas = dict(formulas)

    def observe(self, facts: AbstractSet[str]) -> str:
        """Reads a position and returns the worst verdict."""
        for name, formula in self.formulas.items():
            self.formulas[name] = progress(formula, facts)
        left = self.formulas.values()
        return "violated" if FALSE in left else "satisfied" if all(formula == TRUE for formula in left) else "inconclusive"
