"""Measures the package: a step of four properties against other monitors, an audit against the command's, threads.

Run by `cargo xtask bench python`. All take turns in one run, so that the machine cancels out of the ratios.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List

sys.path[:0] = [str(Path(__file__).parent)]

from progression import FOUR, Progression

import lictor
from lictor import StepObservation, TrajectorySafetyMonitor

ROUNDS = 7
STEPS = [
    "tool_call",
    "verification_passed",
    "handoff",
    "coherence_check",
    "output_emitted",
    "fact_claim",
    "evidence_retrieved",
    "injection_detected",
]


def ratio(name: str, value: float, better: str) -> None:
    """Prints a line for `cargo xtask bench --check`."""
    print(f"ratio: {name} {value:.4f} {better}")


def per_step(observe: Callable[[Any], Any], steps: List[Any]) -> float:
    """Returns the microseconds per call."""
    begin = time.perf_counter()
    for step in steps:
        observe(step)
    return (time.perf_counter() - begin) / len(steps) * 1e6


def agentltl_observe() -> Callable[[str], Any]:
    """Returns the four properties for agentltl, which judges tool calls: a step is a call of that name."""
    from agentltl import Constraint, Enforcer, Eventually, Globally, Implies, Next, Not, Now

    formulas = [
        Globally(Implies(Now("tool_call"), Eventually(Now("verification_passed")))),
        Globally(Implies(Now("handoff"), Next(Now("coherence_check")))),
        Globally(Not(Now("forbidden"))),
        Globally(Implies(Now("fact_claim"), Eventually(Now("evidence_retrieved")))),
    ]
    enforcer = Enforcer([Constraint(f"p{number}", formula) for number, formula in enumerate(formulas)])

    def observe(name: str) -> None:
        enforcer.check(name, {})
        enforcer.record_completed(name, {})

    return observe


def steps_of_four() -> None:
    count = 200_000
    flags = [StepObservation(**{STEPS[number % 8]: True}) for number in range(count)]
    names = [{STEPS[number % 8]} for number in range(count)]
    results: Dict[str, List[float]] = {}
    for _ in range(ROUNDS):
        turns: Dict[str, Callable[[], float]] = {
            "lictor, observations": lambda: per_step(TrajectorySafetyMonitor().observe, flags),
            "lictor, made on the way": lambda: per_step(made_on_the_way(), list(range(count))),
            "lictor, sets of names": lambda: per_step(TrajectorySafetyMonitor().observe, names),
            "progression in Python": lambda: per_step(Progression(FOUR).observe, names[: count // 20]),
            "agentltl, first 100 steps": lambda: per_step(agentltl_observe(), [STEPS[n % 8] for n in range(100)]),
            "agentltl, first 400 steps": lambda: per_step(agentltl_observe(), [STEPS[n % 8] for n in range(400)]),
        }
        for name, turn in turns.items():
            results.setdefault(name, []).append(turn())
    print("a step of four properties, microseconds a call (median), and the ratio to lictor")
    ours = statistics.median(results["lictor, observations"])
    for name, times in results.items():
        median = statistics.median(times)
        print(f"  {name:28} {median:12.3f} {median / ours:10.1f}")
    for name, label in (("progression in Python", "progression"), ("agentltl, first 400 steps", "agentltl")):
        ratio(f"{label}-to-lictor", statistics.median(results[name]) / ours, "higher")


def made_on_the_way() -> Callable[[int], Any]:
    monitor = TrajectorySafetyMonitor()

    def observe(number: int) -> None:
        monitor.observe(StepObservation(tool_call=number & 1 == 0, verification_passed=number & 1 == 1))

    return observe


def audits(folder: Path) -> None:
    log = folder / "log.jsonl"
    with log.open("w") as out:
        for number in range(300_000):
            session, turn = divmod(number, 60)
            text = f"the order {number} is on its way, please wait a little longer, we will write as soon as it is there"
            event: Dict[str, Any] = {"session": f"s{session}", "text": text}
            if turn % 3 == 0:
                event["kind"] = "user_message"
            else:
                event.update(kind=["tool_call", "tool_result"][turn % 3 - 1], tool="look_up", id=f"c{turn // 3}")
            if event["kind"] == "tool_call":
                event["args"] = {"order": number}
            out.write(json.dumps(event) + "\n")
    command = os.environ["LICTOR_COMMAND"]
    times: Dict[str, List[float]] = {"command": [], "package": []}
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        arguments = ["audit", "--quiet", "--policy", "agent-safety", "--format", "json", "--output", "report.json"]
        subprocess.run([command, *arguments, str(log)], cwd=folder, check=False, capture_output=True)
        times["command"].append(time.perf_counter() - begin)
        begin = time.perf_counter()
        (folder / "ours.json").write_text(lictor.audit(log, "agent-safety").to_json())
        times["package"].append(time.perf_counter() - begin)
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"\nan audit of {log.stat().st_size / 1e6:.0f} MB, seconds (median of {ROUNDS}, in turns)")
    for name, median in medians.items():
        print(f"  {name:28} {median:12.3f} {median / medians['command']:10.2f}")
    ratio("audit-package-to-command", medians["package"] / medians["command"], "lower")


def threads() -> None:
    policy = lictor.Policy.load("gdpr,agent-safety")
    text = "Ada Lovelace, born 1990-05-17, ada@example.org, asks about her order. " * 10
    event = {"kind": "user_message", "text": text}

    def one_by_one(count: int) -> None:
        session = lictor.Session(policy)
        for _ in range(count):
            session.observe(event)

    def at_once(count: int) -> None:
        lictor.Session(policy).observe_all([event] * count)

    def throughput(work: Callable[[int], None], workers: int, count: int = 40_000) -> float:
        crew = [threading.Thread(target=work, args=(count // workers,)) for _ in range(workers)]
        begin = time.perf_counter()
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()
        return count / (time.perf_counter() - begin)

    results: Dict[str, List[float]] = {}
    for _ in range(ROUNDS):
        for work in (at_once, one_by_one):
            for workers in (1, 2, 100):
                name = f"{workers} threads, {work.__name__.replace('_', ' ')}"
                results.setdefault(name, []).append(throughput(work, workers))
    print(f"\nsessions in threads, events a second (best of {ROUNDS}), on {os.cpu_count()} cores")
    for name, values in results.items():
        first = max(results["1 threads, " + name.split(", ")[1]])
        print(f"  {name:28} {max(values):12.0f} {max(values) / first:10.2f}")


if __name__ == "__main__":
    steps_of_four()
    threads()
    with tempfile.TemporaryDirectory() as made:
        audits(Path(made))
