"""Monitors of trajectories, by the names under which agents elsewhere know them.

Code that was written for a temporal monitor of this shape runs with only its import lines changed:

>>> from lictor.trajectory import DirectorConfig, ProductionGuard, StepObservation
>>> monitor = ProductionGuard(DirectorConfig()).trajectory_monitor()
>>> _ = monitor.observe(StepObservation(tool_call=True))
>>> _ = monitor.observe(StepObservation(verification_passed=True))
>>> print(monitor.finalize()["verdict"])
satisfied

Steps are counted from one. A verdict is exact, also where formulas are only contradictory together with what is still
to come: there, rewriting a formula step by step would find out late or never.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Optional, Union

from ._lictor import (
    F,
    Formula,
    G,
    StepObservation,
    TrajectorySafetyMonitor,
    U,
    X,
    and_,
    atom,
    implies,
    not_,
    or_,
)
from .verdicts import Verdict

__all__ = [
    "DirectorConfig",
    "F",
    "Formula",
    "G",
    "ProductionGuard",
    "StepObservation",
    "TrajectorySafetyMonitor",
    "U",
    "Verdict",
    "X",
    "and_",
    "atom",
    "implies",
    "not_",
    "or_",
]


@dataclass(frozen=True)
class DirectorConfig:
    """How trajectories are monitored: by these properties, or by the built-in ones."""

    specs: Optional[Mapping[str, Union[Formula, str]]] = None


class ProductionGuard:
    """Begins monitors of trajectories."""

    def __init__(self, config: Optional[DirectorConfig] = None) -> None:
        self.config = config or DirectorConfig()

    def trajectory_monitor(self) -> TrajectorySafetyMonitor:
        """A monitor of its own: trajectories never share state."""
        return TrajectorySafetyMonitor(self.config.specs)
