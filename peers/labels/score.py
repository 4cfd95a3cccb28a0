"""Accuracy as a mean over logs with its 95 % interval, and F1."""

from __future__ import annotations

import math
from typing import Dict, Iterable, List, Optional, Set, Tuple

from judge import Place

# Student's t for a two-sided 95 % interval, by the degrees of freedom from 1 on.
T_95 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131]
T_95 += [2.120, 2.110, 2.101, 2.093, 2.086]
# What a labeler says about each fact of each place; facts without an answer are missing.
Answers = Dict[Place, Dict[str, bool]]


def find_f1(found: Set, there: Set) -> Optional[float]:
    """Returns F1; none if there is nothing to find and nothing was found."""
    return 2 * len(found & there) / (len(found) + len(there)) if found or there else None


def find_interval(values: List[float]) -> Tuple[float, float]:
    """Returns the mean and half of its 95 % interval."""
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, math.nan
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    return mean, T_95[min(len(values) - 1, len(T_95)) - 1] * deviation / math.sqrt(len(values))


def write_number(value: Optional[float], digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def write_cell(answers: Answers, truth: Answers, names: Iterable[str]) -> str:
    """Returns `accuracy ±interval / F1` of the answers about these facts."""
    names = list(names)
    logs: Dict[str, List[bool]] = {}
    said, there, answered = set(), set(), set()
    for place, facts in answers.items():
        for name in names:
            if name not in facts:
                continue
            answered.add(name)
            logs.setdefault(place[0], []).append(facts[name] == truth[place][name])
            said.update([(place, name)] if facts[name] else [])
            there.update([(place, name)] if truth[place][name] else [])
    if not logs:
        return "none"
    mean, half = find_interval([sum(right) / len(right) for right in logs.values()])
    part = f" ({len(answered)} of {len(names)})" if len(answered) < len(names) else ""
    return f"{mean:.3f} ±{half:.3f} / {write_number(find_f1(said, there))}{part}"
