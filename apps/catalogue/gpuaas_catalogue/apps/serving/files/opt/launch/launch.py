"""Serves one model by the OpenAI API, with llama.cpp on the processors of the host.

The model is a GGUF file that the platform mounts read-only. Clients need the token that `show-token` prints,
except for /health. The engine's counters and its version are at a port that the host reads but does not offer; they
need no token.
"""

import argparse
import http.client
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

import xllamacpp
from access_token import ensure_token

METRICS_PORT, METRICS_PAGE, VERSION_PAGE = 8001, "/metrics", "/version"


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="the GGUF file")
    parser.add_argument("--served-model-name", required=True, help="the name by which clients ask for the model")
    parser.add_argument("--max-model-len", type=int, default=4096, help="largest number of tokens in a conversation")
    parser.add_argument("--max-num-seqs", type=int, default=4, help="largest number of parallel requests")
    parser.add_argument("--port", type=int, default=8000)
    return parser.parse_args()


def serve_counters(port: int, token: str) -> None:
    """Serve the engine's page of counters and its version, and no other page."""
    engine_version = version("xllamacpp").encode()

    class Counters(BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:
            if self.path == VERSION_PAGE:
                self.answer(engine_version)
                return
            if self.path != METRICS_PAGE:
                self.send_error(404)
                return
            engine = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            try:
                engine.request("GET", METRICS_PAGE, headers={"Authorization": f"Bearer {token}"})
                page = engine.getresponse().read()
            except (OSError, http.client.HTTPException):
                self.send_error(503)
                return
            finally:
                engine.close()
            self.answer(page)

        def answer(self, page: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            """Log nothing: the container's log belongs to the engine."""

    server = ThreadingHTTPServer(("0.0.0.0", METRICS_PORT), Counters)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def parameters(options: argparse.Namespace, token: str) -> xllamacpp.CommonParams:
    params = xllamacpp.CommonParams()
    params.model.path = str(options.model)
    params.model_alias = {options.served_model_name}
    params.hostnames = ["0.0.0.0"]
    params.port = options.port
    # The conversations share one context, so it must be long enough for all of them.
    params.n_parallel = options.max_num_seqs
    params.n_ctx = options.max_model_len * options.max_num_seqs
    params.cpuparams.n_threads = len(os.sched_getaffinity(0))
    params.endpoint_metrics = True
    params.api_keys = [token]
    return params


def main() -> None:
    options = read_options()
    if not options.model.is_file():
        sys.exit(f"There is no model at {options.model}. Publish its weights and name their digest in the manifest.")
    wanted = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, wanted)  # before the engine starts its threads, which inherit it
    token = ensure_token()
    server = xllamacpp.Server(parameters(options, token))
    serve_counters(options.port, token)
    print(f"serving {options.served_model_name} at {server.listening_address}", flush=True)
    signal.sigwait(wanted)
    os._exit(0)  # the engine's threads do not wait for each other


if __name__ == "__main__":
    main()
