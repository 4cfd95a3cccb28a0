"""Formulas: evaluated on traces, explained, checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional, Tuple, Union

from . import _lictor
from ._lictor import Formula, Monitor, Policy
from .verdicts import Verdict


@dataclass(frozen=True)
class WitnessStep:
    """A position that matters for a verdict."""

    #: Its number, from one.
    position: int
    present: Tuple[str, ...]
    absent: Tuple[str, ...]
    #: The remaining obligation after it.
    residual: str


@dataclass(frozen=True)
class Evaluation:
    """The result of a formula on a whole trace."""

    #: The verdict at the end of the trace.
    verdict: Verdict
    #: The verdict that holds for all continuations.
    live: Verdict
    #: The position that decided the verdict, from one; none if only the end decides.
    decided_at: Optional[int]
    #: The few positions that prove the verdict.
    witness: Tuple[WitnessStep, ...]
    #: For a quantified formula, the values that decided the verdict.
    binding: Dict[str, str]


def evaluate(formula: Union[Formula, str], trace: Iterable[Any]) -> Evaluation:
    """Judges a whole trace by a formula, as `lictor eval` does.

    An entry of a trace is a set of facts; a mapping with `facts`, `unknown` and `time`; or `{"tick": time}`.

    >>> evaluation = evaluate("G(pay -> O approved)", [{"pay"}, {"approved"}])
    >>> evaluation.verdict, evaluation.decided_at
    (<Verdict.VIOLATED: 'violated'>, 1)
    >>> evaluation.witness[0].absent
    ('approved',)
    """
    verdict, live, decided_at, steps, binding = _lictor.evaluate(formula, trace)
    witness = tuple(
        WitnessStep(position, tuple(present), tuple(absent), residual) for position, present, absent, residual in steps
    )
    return Evaluation(verdict, live, decided_at, witness, dict(binding))


def explain(formula: Union[Formula, str]) -> Dict[str, Any]:
    """Returns the meaning of a formula: its spellings, its class, shortest traces, its automaton.

    Equals the output of `lictor explain --format json`.

    >>> explained = explain("G(handoff -> X coherence_check)")
    >>> explained["class"]
    'safety: a violation shows when it happens; monitorable'
    """
    text = str(Monitor(formula).formula)
    code, out = _lictor.command_output(["lictor", "explain", "--format", "json", "--", text])
    if code != 0:
        raise _lictor_failure("explain", code)
    explained: Dict[str, Any] = json.loads(out)
    return explained


def check(*given: Union[Formula, str, Policy]) -> Dict[str, Any]:
    """Finds formulas that cannot hold, cannot fail, or contradict each other; or mistakes in a policy.

    For formulas it returns the output of `lictor check --format json`, for one policy `{"problems": [...]}`.

    >>> checked = check("G a", "F !a")
    >>> checked["pairs"][0]["relation"]
    'contradict'
    """
    policies = [one for one in given if isinstance(one, Policy)]
    if policies:
        if len(given) != 1:
            raise TypeError("check takes formulas, or one policy")
        return {"problems": policies[0].warnings + policies[0].lint()}
    texts = [str(Monitor(one).formula) for one in given if not isinstance(one, Policy)]
    code, out = _lictor.command_output(["lictor", "check", "--format", "json", "--", *texts])
    if code > 1:
        raise _lictor_failure("check", code)
    checked: Dict[str, Any] = json.loads(out)
    return checked


def _lictor_failure(command: str, code: int) -> Exception:
    from .errors import LictorError

    return LictorError(f"`lictor {command}` ended with {code}; standard error says why")
