"""F1 of an audit over the accuracy of its labeler: labels as said, chances thresholded at 0.5, and the belief.

The reference is the same policy with true labels. Half of the logs are judged; the labeler is calibrated on the other half.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List, Set, Tuple

from judge import Labels, Log, Place, find, list_places, read_labels, rules_of_labels, rules_of_world
from judge import run, write_log, write_policy
from noise import LABELER, answer_noisily
from score import find_f1, find_interval
from worlds import World

ACCURACIES = [0.5 + 0.05 * step for step in range(11)]
# Rounds of errors on the judged half, and on the half for the calibration.
ROUNDS = {"trucks": 3, "textworld": 10, "scienceworld": 10}
SAMPLES = 16
RISK = 0.5
FITTED = "2026-11-17T12:00:00Z"

Findings = Set[Tuple[str, Place]]


def say_truly(logs: List[Log], holds: Labels, names: List[str]) -> Dict[Place, Dict[str, Any]]:
    """Returns answers without scores that say these labels."""

    def answer(place: Place, name: str) -> Dict[str, Any]:
        return {"fact": name, "says": "yes" if name in holds.get(place, ()) else "no", "by": LABELER}
    return {place: {"answers": [answer(place, name) for name in names]} for place in list_places(logs)}


def calibrate(work: Path, world: World, logs: List[Log], holds: Labels, accuracy: float, seed: str) -> Set[str]:
    """Fits a calibration to several rounds of answers about the logs, and returns the facts that passed its check."""
    names, sample = list(world.propositions), work / "sample.jsonl"
    with sample.open("w") as file:
        for round_number in range(SAMPLES):
            said = answer_noisily(logs, holds, names, accuracy, f"{seed} sample {round_number}")
            for (session, step), answers in said.items():
                truth = {name: name in holds.get((session, step), ()) for name in names}
                event = {"session": f"{session}-{round_number}", "seq": step, "kind": "action"}
                file.write(json.dumps({**event, "answers": answers, "truth": truth}) + "\n")
    file_of_chances = work / "calibration.json"
    file_of_chances.unlink(missing_ok=True)
    run("learn", "calibration", sample, "--output", file_of_chances, "--fitted", FITTED, allowed=(0, 1, 2))
    return read_passed(file_of_chances) if file_of_chances.exists() else set()


def read_passed(path: Path) -> Set[str]:
    facts = json.loads(path.read_text())["facts"]
    return {name for name, fact in facts.items() if (fact.get("check") or {}).get("passed")}


def add_risk(rules: Dict[str, Dict[str, Any]], world: World, passed: Set[str]) -> Dict[str, Dict[str, Any]]:
    """Adds the threshold to the rules whose facts all have chances. The others read answers as said."""

    def has_chances(rule: Dict[str, Any]) -> bool:
        words = set(rule["formula"].replace("(", " ").replace(")", " ").split())
        return (words & set(world.propositions)) <= passed
    return {name: {**rule, "risk": RISK} if has_chances(rule) else rule for name, rule in rules.items()}


def print_curve(title: str, name: str, world: World, logs: List[Log], holds: Labels, work: Path) -> None:
    names, judged, rounds_of_errors = list(world.propositions), logs[1::2], ROUNDS[name]
    plain = write_policy(work / "plain.yaml", {"log": True}, world, rules_of_world(world))
    log = work / "judged.jsonl"
    reference = find(plain, write_log(log, judged, say_truly(judged, holds, names)))
    sizes = f"{len(judged)} logs, {len(list_places(judged))} actions, {len(world.rules)} rules, {len(reference)} findings"
    print(f"\n{title}: {sizes}, {rounds_of_errors} rounds of errors\n")
    print("| accuracy | as said | thresholded | belief | findings as said | thresholded | belief | rules with chances |")
    print("|---" * 8 + "|", flush=True)
    for accuracy in ACCURACIES:
        passed = calibrate(work, world, logs[::2], holds, accuracy, name)
        labeler = {"log": True, "calibration": "calibration.json"} if passed else {"log": True}
        rules = add_risk(rules_of_world(world), world, passed)
        chances = write_policy(work / "chances.yaml", labeler, world, add_risk(rules_of_labels(world), world, passed))
        belief = write_policy(work / "belief.yaml", labeler, world, rules)
        results: List[List[Findings]] = [[], [], []]
        for round_number in range(rounds_of_errors):
            said = answer_noisily(judged, holds, names, accuracy, f"{name} judged {round_number}")
            write_log(log, judged, {place: {"answers": answers} for place, answers in said.items()})
            results[0].append(find(plain, log))
            results[2].append(find(belief, log))
            write_log(log, judged, say_truly(judged, read_labels(find(chances, log)), names))
            results[1].append(find(plain, log))
        scores = [find_interval([find_f1(found, reference) or 0.0 for found in rounds]) for rounds in results]
        cells = [f"{accuracy:.2f}", *(f"{mean:.2f} ±{half:.2f}" for mean, half in scores)]
        cells += [f"{sum(map(len, rounds)) / len(rounds):.0f}" for rounds in results]
        cells.append(f"{sum('risk' in rule for rule in rules.values())} of {len(rules)}")
        print("| " + " | ".join(cells) + " |", flush=True)
