"""Serves one model by the OpenAI API, with llama.cpp on the processors of the host.

The model is a GGUF file that the platform mounts read-only. Who calls needs the token of `show-token`, except for /health.
"""

import argparse
import os
import signal
import sys
from pathlib import Path

import xllamacpp
from access_token import ensure_token


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="the GGUF file")
    parser.add_argument("--served-model-name", required=True, help="the name by which clients ask for the model")
    parser.add_argument("--max-model-len", type=int, default=4096, help="tokens of a conversation at most")
    parser.add_argument("--max-num-seqs", type=int, default=4, help="requests that are answered at a time")
    parser.add_argument("--port", type=int, default=8000)
    return parser.parse_args()


def parameters(options: argparse.Namespace) -> xllamacpp.CommonParams:
    params = xllamacpp.CommonParams()
    params.model.path = str(options.model)
    params.model_alias = {options.served_model_name}
    params.hostnames = ["0.0.0.0"]
    params.port = options.port
    # Conversations share the context, so that each has the length that was asked for.
    params.n_parallel = options.max_num_seqs
    params.n_ctx = options.max_model_len * options.max_num_seqs
    params.cpuparams.n_threads = len(os.sched_getaffinity(0))
    params.endpoint_metrics = True
    params.api_keys = [ensure_token()]
    return params


def main() -> None:
    options = read_options()
    if not options.model.is_file():
        sys.exit(f"There is no model at {options.model}. Publish its weights and name their digest in the manifest.")
    wanted = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, wanted)  # before the engine starts its threads, which inherit it
    server = xllamacpp.Server(parameters(options))
    print(f"serving {options.served_model_name} at {server.listening_address}", flush=True)
    signal.sigwait(wanted)
    os._exit(0)  # the engine's threads do not wait for each other


if __name__ == "__main__":
    main()
