"""Measures labelers on logs of agents in three worlds: accuracy for each proposition, and what errors do to an audit.

Run by `cargo xtask bench labels FOLDER`. The folder has the logs of TRAC, `trucks/`, `textworld/` and `scienceworld/`, one
action a line. They are not part of this repository. The variable `LICTOR_COMMAND` names the command.

    measure.py FOLDER [--table] [--model] [--curve] [--world NAME] [--work FOLDER]

Without a choice it prints the table, asks the small model and prints the curve, of all worlds. `--work` keeps the files.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any, Dict, List, NamedTuple

from curve import print_curve
from judge import (
    Labels, Log, Place, find, list_places, read_labels, read_logs, read_truth, rules_of_labels, run, write_log, write_policy,
)
from noise import answer_noisily
from score import Answers, write_cell
from worlds import WORLDS, World, list_groups

EXAMPLES = Path(__file__).parents[2] / "examples"
TITLES = {"trucks": "Trucks", "textworld": "TextWorld", "scienceworld": "ScienceWorld"}
# The accuracies of Qwen-7B and of Gemini-2.5-Pro in Table 1 of the paper that made the logs.
PAPER = {"trucks": (0.77, 0.78), "textworld": (0.87, 0.99), "scienceworld": (0.98, 0.99)}
# `lictor learn labels` needs as many events where a fact holds.
MIN_EXAMPLES = 10
# A request to the small model takes seconds: events and propositions that it is asked about.
SAMPLE = {"trucks": 10, "textworld": 15, "scienceworld": 15}
SAMPLE_GROUPS = ("load_aN", "unload_aN", "deliver_lN", "drive_lN")
HINT = "  hint: name the folder with the logs that TRAC released; they are not part of this repository"


class Measured(NamedTuple):
    """The logs of a world and what is true in them."""

    name: str
    world: World
    logs: List[Log]
    holds: Labels
    truth: Answers
    work: Path


def prepare(folder: Path, name: str, work: Path) -> Measured:
    """Reads the logs of a world, and checks that they are read like the audit reads them."""
    source, example = folder / name, EXAMPLES / name / "policy.yaml"
    logs = read_logs(source)
    if not logs:
        raise SystemExit(f"error: {source} has no logs (*.txt)\n{HINT}")
    work = work / name
    work.mkdir(parents=True, exist_ok=True)
    log = write_log(work / "log.jsonl", logs)
    ours, theirs = find(example, log), find(example, *(source / f"{it.session}.txt" for it in logs))
    if ours != theirs:
        raise SystemExit(f"error: {source} is read differently by the audit: {len(ours ^ theirs)} findings differ")
    holds = read_truth(example, WORLDS[name], work, log)
    return Measured(name, WORLDS[name], logs, holds, read_all(WORLDS[name], logs, holds), work)


def read_all(world: World, logs: List[Log], holds: Labels) -> Answers:
    return {place: {fact: fact in holds.get(place, ()) for fact in world.propositions} for place in list_places(logs)}


def answer_always(it: Measured, says: bool) -> Answers:
    return {place: dict.fromkeys(it.world.propositions, says) for place in it.truth}


def answer_scripted(it: Measured, accuracy: float) -> Answers:
    """Lets the audit read the answers of a labeler with errors."""
    noisy = answer_noisily(it.logs, it.holds, list(it.world.propositions), accuracy, it.name)
    log = write_log(it.work / "scripted.jsonl", it.logs, {place: {"answers": said} for place, said in noisy.items()})
    policy = write_policy(it.work / "scripted.yaml", {"log": True}, it.world, rules_of_labels(it.world))
    return read_all(it.world, it.logs, read_labels(find(policy, log)))


def ask(it: Measured, labeler: Dict[str, Any], world: World, logs: List[Log]) -> List[Any]:
    """Asks a labeler everything about all events by `lictor label`, and returns its answers with their places."""
    log, answers = write_log(it.work / "asked.jsonl", logs), it.work / "answers.jsonl"
    answers.unlink(missing_ok=True)
    policy = write_policy(it.work / "asked.yaml", labeler, world, rules_of_labels(world))
    run("label", "--policy", policy, "--answers", answers, "--jobs", 1, log)
    lines = [json.loads(line) for line in answers.read_text().splitlines()]
    return [((line["session"], line["step"]), answer) for line in lines for answer in line["answers"]]


def read_answers(said: List[Any]) -> Answers:
    """Returns the answers that are yes or no."""
    answers: Answers = {}
    for place, answer in said:
        if answer["says"] in ("yes", "no"):
            answers.setdefault(place, {})[answer["fact"]] = answer["says"] == "yes"
    return answers


def answer_learnt(it: Measured, train: List[Log], test: List[Log]) -> Answers:
    """Fits a labeler to some logs and asks it about others."""
    places = list_places(train)
    labels = {place: {"labels": sorted(it.holds.get(place, ()))} for place in places}
    labelled = write_log(it.work / "train.jsonl", train, labels)

    def is_frequent(fact: str) -> bool:
        count = sum(fact in it.holds.get(place, ()) for place in places)
        return min(count, len(places) - count) >= MIN_EXAMPLES

    facts = [fact for fact in it.world.propositions if is_frequent(fact)]
    options = [word for fact in facts for word in ("--fact", fact)]
    run("learn", "labels", labelled, "--output", it.work / "model.json", "--name", "labeler", *options)
    learnt = World({fact: it.world.propositions[fact] for fact in facts}, {})
    return read_answers(ask(it, {"learnt": "model.json"}, learnt, test))


def print_table(it: Measured) -> None:
    places = len(it.truth)
    low, high = PAPER[it.name]
    one_out: Answers = {}
    for left in it.logs:
        one_out.update(answer_learnt(it, [log for log in it.logs if log is not left], [left]))
    columns = [
        ("all false", answer_always(it, False)),
        ("all true", answer_always(it, True)),
        (f"scripted, {low:.2f}", answer_scripted(it, low)),
        (f"scripted, {high:.2f}", answer_scripted(it, high)),
        ("learnt, half", answer_learnt(it, it.logs[::2], it.logs[1::2])),
        ("learnt, one out", one_out),
    ]
    print(f"\n{TITLES[it.name]}: {len(it.logs)} logs, {places} actions, {places * len(it.world.propositions)} answers")
    print(f"half: {len(it.logs[1::2])} logs, {len(list_places(it.logs[1::2]))} actions\n")
    print("| proposition | true | " + " | ".join(title for title, _ in columns) + " |")
    print("|---" * (len(columns) + 2) + "|")
    for group, names in [*list_groups(it.world).items(), ("all", list(it.world.propositions))]:
        title = f"`{group}`" if group != "all" else group
        title += f" ({len(names)})" if len(names) > 1 else ""
        count = sum(facts[name] for facts in it.truth.values() for name in names)
        cells = [title, str(count), *(write_cell(answers, it.truth, names) for _, answers in columns)]
        print("| " + " | ".join(cells) + " |", flush=True)


def draw_sample(it: Measured) -> List[Log]:
    """Returns single actions of the second half of the logs, at equal distances."""
    places = [(log, step) for log in it.logs[1::2] for step in range(len(log.actions))]
    wanted = SAMPLE[it.name]
    chosen = [places[number * len(places) // wanted] for number in range(wanted)]
    return [Log(f"{log.session}:{step + 1}", [log.actions[step]]) for log, step in chosen]


def find_auc(scored: List[Any]) -> str:
    """Returns the share of pairs in which the true proposition has the higher score."""
    pairs = [(a > b) + 0.5 * (a == b) for a, true in scored if true for b, other in scored if not other]
    return f"{sum(pairs) / len(pairs):.2f}" if pairs else "–"


def print_model(measured: List[Measured]) -> None:
    from small_model import SmallModel

    print("\n| world | actions | questions | true | controls | yes | no | unclear | failed | accuracy / F1 | AUC |")
    print("|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    with SmallModel() as model:
        for it in measured:
            propositions = it.world.propositions
            if it.name == "trucks":
                propositions = {name: one for name, one in propositions.items() if one.group in SAMPLE_GROUPS}
            world, logs = World(propositions, {}), draw_sample(it)
            for kind, url in (("as they are", model.url), ("corrected", model.corrected_url)):
                said = ask(it, {"endpoint": url, "model": "smollm2", "timeout": "300s"}, world, logs)
                print_model_row(it, kind, said, len(logs))


def print_model_row(it: Measured, kind: str, said: List[Any], events: int) -> None:
    def is_true(place: Place, fact: str) -> bool:
        session, step = place[0].split(":")
        return it.truth[(session, int(step))][fact]

    values = [answer["says"] for _, answer in said]
    judged = [(answer, is_true(place, answer["fact"])) for place, answer in said]
    known = [(answer["says"] == "yes", true) for answer, true in judged if answer["says"] in ("yes", "no")]
    scored = [(answer["score"], true) for answer, true in judged if answer.get("score") is not None]
    right = f"{sum(a == b for a, b in known) / len(known):.3f}" if known else "none"
    both = 2 * sum(a and b for a, b in known)
    either = sum(a + b for a, b in known)
    f1 = f"{both / either:.2f}" if either else "–"
    true = sum(true for _, true in judged)
    counts = [str(values.count(value)) for value in ("yes", "no", "unclear", "failed")]
    cells = [TITLES[it.name], str(events), str(len(said)), str(true), kind, *counts, f"{right} / {f1}", find_auc(scored)]
    print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    for part in ("table", "model", "curve"):
        parser.add_argument(f"--{part}", action="store_true")
    parser.add_argument("--world", choices=list(WORLDS))
    parser.add_argument("--work", type=Path)
    options = parser.parse_args()
    if not options.folder.is_dir():
        raise SystemExit(f"error: there is no folder {options.folder}\n{HINT}")
    is_all = not (options.table or options.model or options.curve)
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        measured = [prepare(options.folder, name, work) for name in WORLDS if options.world in (None, name)]
        if is_all or options.table:
            for it in measured:
                print_table(it)
        if is_all or options.model:
            print_model(measured)
        if is_all or options.curve:
            for it in measured:
                print_curve(TITLES[it.name], it.name, it.world, it.logs, it.holds, it.work)


if __name__ == "__main__":
    main()
