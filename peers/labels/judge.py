"""Runs the command `lictor` on logs of actions: reads the logs, writes policies, and returns where findings are.

The variable `LICTOR_COMMAND` names the command.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Set, Tuple

from worlds import World

# Numbers and marks before an action: `3. **`, `Step 3: `, `Step: 3 Action: `.
NUMBER = re.compile(r"^\s*(?:step\s*:?\s*)?\d+\s*[.:)]?\s*(?:action\s*:)?\s*", re.IGNORECASE)
# An event: the log and its number there, from 1 on.
Place = Tuple[str, int]
Labels = Dict[Place, Set[str]]


class Log(NamedTuple):
    """The actions of one run of an agent."""

    session: str
    actions: List[str]


def read_logs(folder: Path) -> List[Log]:
    """Returns the logs of a folder, in the order of their numbers."""
    files = sorted(folder.glob("*.txt"), key=lambda file: (len(file.name), file.name))
    return [Log(file.stem, [read_action(line) for line in file.read_text().splitlines() if line.strip()]) for file in files]


def read_action(line: str) -> str:
    return NUMBER.sub("", line).strip().strip("*").strip().replace("**", "")


def list_places(logs: Iterable[Log]) -> List[Place]:
    return [(log.session, step) for log in logs for step in range(1, len(log.actions) + 1)]


def write_log(path: Path, logs: Iterable[Log], extra: Optional[Dict[Place, Dict[str, Any]]] = None) -> Path:
    """Writes logs in Lictor's own format, with more members of each event."""
    with path.open("w") as file:
        for log in logs:
            for step, action in enumerate(log.actions, 1):
                event = {"session": log.session, "seq": step, "kind": "action", "text": action}
                file.write(json.dumps({**event, **(extra or {}).get((log.session, step), {})}) + "\n")
    return path


def write_policy(path: Path, labeler: Dict[str, Any], world: World, rules: Dict[str, Dict[str, Any]]) -> Path:
    """Writes a policy whose facts are all asked. JSON is YAML."""
    facts = {name: {"ask": it.statement, "of": "action", "by": "labeler"} for name, it in world.propositions.items()}
    properties = [{"id": name, **rule} for name, rule in rules.items()]
    policy = {"lictor": 1, "name": "labels", "labelers": {"labeler": labeler}, "facts": facts, "properties": properties}
    path.write_text(json.dumps(policy, indent=1))
    return path


def rules_of_labels(world: World) -> Dict[str, Dict[str, Any]]:
    """Returns a rule for each proposition that is broken wherever it holds."""
    return {f"is-{name}": {"formula": f"always not {name}"} for name in world.propositions}


def rules_of_world(world: World) -> Dict[str, Dict[str, Any]]:
    return {name: {"formula": formula} for name, formula in world.rules.items()}


def run(*arguments: Any, allowed: Tuple[int, ...] = (0,)) -> str:
    """Runs the command and returns its standard output."""
    call = [os.environ["LICTOR_COMMAND"], *map(str, arguments)]
    done = subprocess.run(call, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode not in allowed:
        raise SystemExit(f"{' '.join(call)}\nfailed ({done.returncode}):\n{done.stdout}\n{done.stderr}")
    return done.stdout


def audit(policy: Path, *logs: Path, options: Iterable[str] = ()) -> Dict[str, Any]:
    """Returns the report of an audit."""
    return json.loads(run("audit", "--quiet", "--format", "json", "--policy", policy, *options, *logs, allowed=(0, 1)))


def find(policy: Path, *logs: Path, options: Iterable[str] = ()) -> Set[Tuple[str, Place]]:
    """Returns property and place of each finding, once if several bindings have it."""
    report = audit(policy, *logs, options=options)
    return {(it["property"], (Path(it["session"]).stem, it["step"])) for it in report["findings"]}


def read_labels(findings: Set[Tuple[str, Place]]) -> Labels:
    """Returns the propositions that hold at each place, from the findings of `rules_of_labels`."""
    labels: Labels = {}
    for name, place in findings:
        labels.setdefault(place, set()).add(name.rsplit("is-", 1)[1])
    return labels


def read_truth(example: Path, world: World, folder: Path, log: Path) -> Labels:
    """Returns what holds by the example's own definitions."""
    rules = [{"id": f"is-{name}", "formula": f"always not {it.truth}"} for name, it in world.propositions.items()]
    policy = folder / "truth.yaml"
    uses = os.path.relpath(example, folder)
    uses = uses if uses.startswith(".") else f"./{uses}"
    policy.write_text(json.dumps({"lictor": 1, "name": "truth", "uses": [uses], "properties": rules}))
    return read_labels(find(policy, log, options=["--only", "is-*"]))
