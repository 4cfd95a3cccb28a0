"""The command in the wheel, and the verdicts of Python against those of the command line."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import List, Set

import pytest

import lictor
from lictor import Formula, Monitor, evaluate

from drawn import NAMES

#: The command to compare with: the program that cargo builds, or the command of the wheel.
COMMAND = os.environ.get("LICTOR_COMMAND")
LICTOR = [COMMAND] if COMMAND else [sys.executable, "-m", "lictor"]
#: How many pairs of a formula and a trace are compared; `cargo xtask nightly` compares more.
PAIRS = int(os.environ.get("LICTOR_PYTHON_PAIRS", "2000"))
FORMULAS_AT_ONCE = 50


def run(*arguments: str, **options: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*LICTOR, *arguments], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload, no-any-return]


def test_command_is_installed() -> None:
    script = Path(sys.executable).parent / "lictor"
    assert subprocess.run([script, "--version"], capture_output=True, text=True, check=True).stdout.startswith("lictor ")
    assert subprocess.run([script, "eval", "G(", "-"], capture_output=True, check=False).returncode == 2
    assert subprocess.run([script, "nonsense"], capture_output=True, check=False).returncode == 2


def test_exceptions_match_the_command() -> None:
    said = run("explain", "G(a -> ").stderr
    with pytest.raises(lictor.FormulaError) as error:
        Formula.parse("G(a -> ")
    hints = [line.strip() for line in str(error.value).splitlines() if "hint:" in line]
    assert hints and all(hint in said for hint in hints)


def draw(chance: random.Random, depth: int, ahead: bool = True) -> str:
    """Returns a random formula, not simplified. No past operator contains a future operator."""
    if depth == 0 or chance.random() < 0.15:
        return chance.choice([*NAMES, *NAMES, "true", "false"])
    if chance.random() < 0.5:
        operator = chance.choice("!!OHYZ" + "GFXN" * ahead)
        bound = chance.choice(["", "", "", "[0,2]", "[1,3]"]) if operator in "GFOH" else ""
        return f"({operator}{bound} {draw(chance, depth - 1, ahead and operator not in 'OHYZ')})"
    operator = chance.choice(["&", "|", "->", "<->", "S", "T", *"UWRM" * ahead])
    below = ahead and operator not in "ST"
    return f"({draw(chance, depth - 1, below)} {operator} {draw(chance, depth - 1, below)})"


def test_random_verdicts_match_the_command(tmp_path: Path) -> None:
    """Compares the verdict after every position, the verdict if the trace ended there, and the verdict at the end."""
    seed = int(os.environ.get("LICTOR_SEED", "20260501"))
    chance = random.Random(seed)
    definite = 0
    for batch in range(PAIRS // FORMULAS_AT_ONCE):
        formulas = [draw(chance, chance.randint(1, 4)) for _ in range(FORMULAS_AT_ONCE)]
        trace: List[Set[str]] = [
            {name for name in NAMES if chance.random() < 0.5} for _ in range(chance.randint(1, 10))
        ]
        (tmp_path / "formulas.txt").write_text("\n".join(formulas) + "\n")
        lines = "".join(json.dumps(sorted(position)) + "\n" for position in trace)
        (tmp_path / "trace.jsonl").write_text(lines)
        done = run("eval", "--format", "json", "--formulas", "formulas.txt", "trace.jsonl", cwd=tmp_path)
        assert done.returncode in (0, 1), done.stderr
        judged = json.loads(done.stdout)["traces"][0]["findings"]
        assert len(judged) == len(formulas)
        for number, (formula, theirs) in enumerate(zip(formulas, judged)):
            place = f"LICTOR_SEED={seed}, batch {batch}, formula {number}: {formula} on {trace}"
            ours = evaluate(formula, trace)
            assert (ours.verdict, ours.live) == (theirs["verdict"], theirs["live"]), place
            monitor = Monitor(formula)
            for position, step in zip(trace, theirs["steps"]):
                assert monitor.observe(position) == step["verdict"], place
                assert monitor.end() == step.get("presumptive", step["verdict"]), place
            definite += ours.live.is_definite
    assert definite > PAIRS // 10
