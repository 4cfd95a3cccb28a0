"""A scripted labeler: it knows the truth, and errs at a chosen rate with a fixed seed.

It sees a normal variable whose mean depends on the truth, and says yes if that is positive. Its score is the likelihood of
yes against no as a probability. So it does not know how rare the fact is: a calibration has to find out.
"""

from __future__ import annotations

import math
import random
from statistics import NormalDist
from typing import Any, Dict, List

from judge import Labels, Log, Place, list_places

LABELER = "labeler@1"


def answer_noisily(logs: List[Log], truth: Labels, names: List[str], accuracy: float, seed: str) -> Dict[Place, List[Any]]:
    """Returns an answer to each question about each event."""
    chance = random.Random(f"{seed} {accuracy:.2f}")
    # Of two normal variables this far apart, the middle tells this share rightly.
    distance = 2 * NormalDist().inv_cdf(min(accuracy, 0.9999))
    answers: Dict[Place, List[Any]] = {}
    for place in list_places(logs):
        for name in names:
            side = 1 if name in truth.get(place, ()) else -1
            seen = chance.gauss(side * distance / 2, 1)
            if accuracy >= 1:
                seen = side * abs(seen)
            score = 1 / (1 + math.exp(-distance * seen))
            answer = {"fact": name, "says": "yes" if seen > 0 else "no", "score": score, "by": LABELER}
            answers.setdefault(place, []).append(answer)
    return answers
