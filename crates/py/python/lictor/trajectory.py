"""Trajectory monitors, under the names that another library uses.

Code for the temporal monitor of that library runs with only its import lines changed:

>>> from lictor.trajectory import DirectorConfig, ProductionGuard, StepObservation
>>> monitor = ProductionGuard(DirectorConfig()).trajectory_monitor()
>>> _ = monitor.observe(StepObservation(tool_call=True))
>>> _ = monitor.observe(StepObservation(verification_passed=True))
>>> print(monitor.finalize()["verdict"])
satisfied

Steps are counted from one. Verdicts are exact: a formula that no continuation can satisfy is violated at once, where
rewriting it step by step would detect that late or never.
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
    """The properties that monitor trajectories; the built-in ones by default."""

    specs: Optional[Mapping[str, Union[Formula, str]]] = None


class ProductionGuard:
    """Creates trajectory monitors."""

    def __init__(self, config: Optional[DirectorConfig] = None) -> None:
        self.config = config or DirectorConfig()

    def trajectory_monitor(self) -> TrajectorySafetyMonitor:
        """Returns a new monitor: trajectories never share state."""
        return TrajectorySafetyMonitor(self.config.specs)
