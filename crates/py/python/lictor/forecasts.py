"""What a chain says about the rest of a session."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Forecast:
    """The probability that a pattern happens within some actions of the agent."""

    #: The number of actions.
    within: int
    #: The probability is at least this, as far as the method knows.
    least: float
    #: The best guess.
    chance: float
    #: The probability is at most this. Of an interval by a chain, this is the end to rely on.
    most: float
    #: How it was made.
    method: str
