"""Checks what AI agents do against temporal properties.

Three lines guard an agent:

    import lictor
    guard = lictor.Guard("agent-safety")
    client = guard.wrap(openai.OpenAI())

The main names:

- :class:`Policy`, :class:`Session`: a policy for an agent, and one session of it, judged step by step
- :class:`Guard`: decides on every step before it takes effect; a decorator for tools, wrappers for clients
- :func:`audit`, :class:`Report`: whole logs
- :class:`Chain`, :class:`Forecast`: how likely a session violates a property soon
- :class:`Formula` and its algebra, :class:`Monitor`, :func:`evaluate`, :func:`explain`, :func:`check`: bare formulas
- :class:`TrajectorySafetyMonitor`: named properties over the steps of an agent
- ``lictor.adapters``: LangChain and LangGraph, the OpenAI Agents SDK, smolagents, MCP servers
"""

from ._lictor import (
    Chain,
    F,
    Formula,
    G,
    H,
    M,
    Monitor,
    N,
    O,
    Policy,
    Proposal,
    R,
    S,
    Session,
    StepObservation,
    T,
    TrajectorySafetyMonitor,
    U,
    W,
    X,
    Y,
    Z,
    __version__,
    and_,
    atom,
    exists,
    false_,
    forall,
    iff,
    implies,
    not_,
    or_,
    true_,
)
from .decisions import Decision, Objection, Redaction
from .errors import (
    AuditError,
    Denied,
    EventError,
    ForecastError,
    FormulaError,
    LictorError,
    LogError,
    PolicyError,
    StateError,
    ToolError,
    UndecidedWarning,
    UnexercisedWarning,
)
from .findings import Finding, Proof
from .forecasts import Forecast
from .formulas import Evaluation, WitnessStep, check, evaluate, explain
from .guard import Guard
from .report import Report, audit
from .trajectory import DirectorConfig, ProductionGuard
from .verdicts import Action, Decided, Response, Severity, Verdict

__all__ = [
    "Action",
    "AuditError",
    "Chain",
    "Decided",
    "Decision",
    "Denied",
    "DirectorConfig",
    "Evaluation",
    "EventError",
    "F",
    "Finding",
    "Forecast",
    "ForecastError",
    "Formula",
    "FormulaError",
    "G",
    "Guard",
    "H",
    "LictorError",
    "LogError",
    "M",
    "Monitor",
    "N",
    "O",
    "Objection",
    "Policy",
    "PolicyError",
    "ProductionGuard",
    "Proof",
    "Proposal",
    "R",
    "Redaction",
    "Report",
    "Response",
    "S",
    "Session",
    "Severity",
    "StateError",
    "StepObservation",
    "T",
    "ToolError",
    "TrajectorySafetyMonitor",
    "U",
    "UndecidedWarning",
    "UnexercisedWarning",
    "Verdict",
    "W",
    "WitnessStep",
    "X",
    "Y",
    "Z",
    "__version__",
    "and_",
    "atom",
    "audit",
    "check",
    "evaluate",
    "exists",
    "explain",
    "false_",
    "forall",
    "iff",
    "implies",
    "not_",
    "or_",
    "true_",
]
