"""Compares the recognisers with Presidio on the same texts: precision and recall for each category, and throughput.

Run by `cargo xtask bench presidio`. The variable `LICTOR_FIND_SPANS` names the example `find_spans` of the crate.

    compare.py [--half report|tune] [--ours] [--show CATEGORY]

`--ours` leaves Presidio out. `--show` lists what is missed and what is found wrongly, for the tuning half only.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import subprocess
import sys
import time
from collections import defaultdict
from typing import Any, Dict, List, Tuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

from corpus import Sample, corpora

Span = Tuple[int, int, str]

# Weaker patterns of Presidio score below this, and are meant to be raised by words nearby.
SCORE = 0.35
ENTITIES = {
    "EMAIL_ADDRESS": "email",
    "PHONE_NUMBER": "phone",
    "CREDIT_CARD": "payment",
    "IBAN_CODE": "iban",
    "IP_ADDRESS": "ip_address",
    "US_SSN": "gov_id",
    "US_ITIN": "gov_id",
    "US_PASSPORT": "gov_id",
    "US_DRIVER_LICENSE": "gov_id",
    "DATE_TIME": "dob",
    "PERSON": "person",
}
CATEGORIES = ["email", "phone", "payment", "iban", "ip_address", "gov_id", "dob", "person", "address", "health", "order_id"]
ROUNDS = 20


def find_ours(texts: List[str], *options: str) -> str:
    command = [os.environ["LICTOR_FIND_SPANS"], *options]
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    return subprocess.run(command, input=lines, capture_output=True, check=True, text=True).stdout


def make_presidio(with_names: bool) -> Any:
    """Returns Presidio's analyzer. No English model is on the registry, so the French one splits and tags all texts."""
    logging.disable(logging.WARNING)
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import NlpEngineProvider

    labels = {"PER": "PERSON", "LOC": "LOCATION", "ORG": "ORGANIZATION"}
    settings = {
        "nlp_engine_name": "spacy",
        "models": [{"lang_code": "en", "model_name": "fr_core_news_sm"}],
        "ner_model_configuration": {"labels_to_ignore": ["MISC"], "model_to_presidio_entity_mapping": labels},
    }
    engine = NlpEngineProvider(nlp_configuration=settings).create_engine()
    analyzer = AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])
    if not with_names:
        engine.nlp["en"].select_pipes(enable=[])
    return analyzer


def find_presidio(analyzer: Any, text: str) -> List[Span]:
    results = analyzer.analyze(text, language="en", score_threshold=SCORE)
    return [(hit.start, hit.end, ENTITIES[hit.entity_type]) for hit in results if hit.entity_type in ENTITIES]


def merge(spans: List[Span], category: str) -> List[Tuple[int, int]]:
    """Returns the spans of a category, with those that overlap as one."""
    merged: List[Tuple[int, int]] = []
    for start, end, _ in sorted(span for span in spans if span[2] == category):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def overlap(one: Tuple[int, int], other: Tuple[int, int]) -> int:
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


class Tally:
    """What was found of what there is, and how many of the findings are right."""

    def __init__(self) -> None:
        self.found = self.there = self.right = self.said = 0

    def add(self, sample: Sample, said: List[Span], category: str, any_date: bool) -> Tuple[List[Any], List[Any]]:
        """Counts one text; returns what was missed and what was found wrongly."""
        wanted = [span[:2] for span in sample["spans"] if span[2] == category]
        # Presidio finds all dates, which is right for it; a date of birth is asked of both. Parts of addresses are right.
        others = {"dob": "date" if any_date else "", "address": "location"}
        right = wanted + [span[:2] for span in sample["spans"] if span[2] == others.get(category)]
        hits = merge(said, category)
        missed = [gold for gold in wanted if 2 * max([overlap(gold, hit) for hit in hits] + [0]) < gold[1] - gold[0]]
        wrong = [hit for hit in hits if not any(overlap(gold, hit) for gold in right)]
        self.there += len(wanted)
        self.found += len(wanted) - len(missed)
        self.said += len(hits)
        self.right += len(hits) - len(wrong)
        return missed, wrong

    def recall(self) -> str:
        return interval(self.found, self.there)

    def precision(self) -> str:
        return interval(self.right, self.said)


def interval(hits: int, of: int) -> str:
    """Returns a share in percent with its 95 % interval (Wilson)."""
    if of == 0:
        return "–"
    z = 1.96
    share = hits / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return f"{100 * share:.0f} ({100 * max(0, middle - half):.0f}–{100 * min(1, middle + half):.0f})"


def print_table(samples: List[Sample], ours: List[List[Span]], theirs: List[List[Span]], show: str) -> None:
    tallies: Dict[Tuple[str, str, str], Tuple[Tally, Tally]] = defaultdict(lambda: (Tally(), Tally()))
    for number, sample in enumerate(samples):
        for category in CATEGORIES:
            mine, other = tallies[sample["corpus"], category, sample["language"]]
            missed, wrong = mine.add(sample, ours[number], category, False)
            if theirs:
                other.add(sample, theirs[number], category, True)
            if category == show and (missed or wrong) and sample["half"] == "tune":
                text = sample["text"]
                print("missed", [text[a:b] for a, b in missed], "wrong", [text[a:b] for a, b in wrong], repr(text[:160]))
    print("| corpus | category | language | values | recall | precision | Presidio: recall | precision |")
    print("|---|---|---|---|---|---|---|---|")
    for (corpus, category, language), (mine, other) in sorted(tallies.items(), key=lambda entry: entry[0]):
        if mine.there or mine.said or other.said:
            cells = [mine.recall(), mine.precision(), other.recall(), other.precision()]
            if category not in ENTITIES.values():
                # Presidio has no such entity, so that it cannot miss one.
                cells[2:] = ["–", "–"]
            if not mine.there:
                cells[1], cells[3] = f"{mine.said} wrong", f"{other.said} wrong"
            print("|", " | ".join([corpus, category, language, str(mine.there), *cells]), "|")


def print_throughput(texts: List[str]) -> None:
    """Prints the time of a text for both, each on one thread."""
    best = int(find_ours(texts, "--time", str(ROUNDS))) / len(texts)
    for name, with_names in (("with its model for names", True), ("with patterns alone", False)):
        analyzer = make_presidio(with_names)
        analyzer.analyze(texts[0], language="en")
        rounds = []
        for _ in range(3):
            # The time of the processor, so that other programs of the machine do not count.
            start = time.process_time()
            for text in texts:
                analyzer.analyze(text, language="en", score_threshold=SCORE)
            rounds.append((time.process_time() - start) * 1e9 / len(texts))
        print(f"{len(texts)} texts: {best:.0f} ns a text; Presidio {name} {min(rounds):.0f} ns: {min(rounds) / best:.0f} times")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--half", default="report", choices=["report", "tune"])
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("--show", default="")
    options = parser.parse_args()
    samples = [sample for sample in corpora() if sample["half"] == options.half]
    texts = [sample["text"] for sample in samples]
    ours = [[tuple(span[:3]) for span in json.loads(line)] for line in find_ours(texts, "--names").splitlines()]
    theirs: List[List[Span]] = []
    if not options.ours:
        analyzer = make_presidio(True)
        theirs = [find_presidio(analyzer, text) for text in texts]
    print_table(samples, ours, theirs, options.show)
    if not options.ours:
        sys.stdout.flush()
        print_throughput([sample["text"] for sample in samples if sample["corpus"] == "generated"][:400])


if __name__ == "__main__":
    main()
