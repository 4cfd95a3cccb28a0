"""Measures strategies through a real gateway with OpenAI's own library, streamed and not, and compares with the lab.

The agent is simulated and seeded. So a run that is not streamed must be the same run as within one process, unless replies are
asked for at once: any other difference ends this script with an error.
"""

import argparse
import json
import subprocess
import sys
import time
import urllib.request

from driver import LAB, Agent, Gateway, mean, play, write_policy

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--runs", type=int, default=40)
parser.add_argument("--temperature", type=float, default=0.8)
parser.add_argument("--threshold", type=float, default=0.3)
parser.add_argument("--strategies", nargs="*", default=["none", "inject", "resample", "one-by-one", "switch"])
options = parser.parse_args()


def expected_scores(strategy):
    """Returns what happens within one process."""
    command = [LAB, "runs", "--strategy", strategy, "--runs", str(options.runs)]
    command += ["--temperature", str(options.temperature), "--threshold", str(options.threshold)]
    lines = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
    return [json.loads(line) for line in lines]


print("| strategy | replies | violating actions in a run | for each 100 actions | reward | extra calls in a run | as in one process |")
print("|---|---|---|---|---|---|---|")
differs = False
for strategy in options.strategies:
    folder = write_policy(strategy, options.temperature, options.threshold)
    expected = expected_scores(strategy)
    for streamed in [False, True]:
        began = time.monotonic()
        with Agent() as agent, Gateway(folder, agent.address) as gateway:
            scores = [play(gateway.address, seed, options.temperature, streamed) for seed in range(options.runs)]
            with urllib.request.urlopen(f"{agent.address}/usage") as reply:
                calls = json.load(reply)["calls"]
        actions = sum(score["actions"] for score in scores)
        violating = sum(score["violating_actions"] for score in scores)
        # A run that delivers everything ends with a reply without a call.
        asked = actions + sum(score["done"] and score["actions"] < 60 for score in scores)
        # Replies that are asked for at once may come in another order than within one process, so they may differ.
        same = sum(one == other for one, other in zip(scores, expected))
        differs = differs or (not streamed and strategy != "resample" and same < options.runs)
        row = [strategy, "streamed" if streamed else "whole", f"{violating / options.runs:.2f}"]
        row += [f"{100 * violating / actions:.2f}", f"{mean(score['reward'] for score in scores):.2f}"]
        row += [f"{(calls - asked) / options.runs:.1f}", f"{same} of {options.runs}"]
        print("| " + " | ".join(row) + " |", flush=True)
        print(f"{strategy}: {calls} calls in {time.monotonic() - began:.0f} s", file=sys.stderr)
if differs:
    sys.exit("error: a run through the gateway differs from the same run within one process")
