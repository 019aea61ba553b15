"""Starts vLLM's OpenAI server on the GPUs of its container; in the variant `cpu`, on its processors.

The model is a folder that the platform mounts read-only. Clients need the token that `show-token` prints (see
require_token.py). For all other options, vLLM's defaults apply.
"""

import argparse
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from access_token import ensure_token

GIB = 1024**3
PROGRAM = "/opt/app/bin/vllm"
_GPU = re.compile(r"nvidia[0-9]+")


def read_options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="the folder with config.json and the weights")
    parser.add_argument("--served-model-name", required=True, help="the name by which clients ask for the model")
    parser.add_argument(
        "--max-model-len", type=int, help="largest number of tokens in a conversation; default: the model's"
    )
    parser.add_argument("--max-num-seqs", type=int, help="largest number of parallel requests")
    parser.add_argument("--gpu-memory-utilization", type=float, help="share of the memory of each GPU")
    parser.add_argument(
        "--kv-cache-gib", type=int, help="memory for the tokens of all conversations, instead of a share of GPU memory"
    )
    parser.add_argument("--enforce-eager", action="store_true", help="start sooner and run slower: compile no graphs")
    parser.add_argument("--dtype", default="auto", choices=["auto", "float16", "bfloat16", "float32"])
    parser.add_argument("--quantization", help="default: as the checkpoint says")
    parser.add_argument("--tensor-parallel-size", type=int, default=0, help="GPUs of the model; all if 0")
    return parser.parse_args(arguments)


def count_gpus(devices: Iterable[str], environment: Mapping[str, str]) -> int:
    """Count the GPUs of the container: those that the platform names, otherwise the devices of NVIDIA's driver."""
    named = environment.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return len([word for word in named.split(",") if word.strip()])
    return len([name for name in devices if _GPU.fullmatch(name)])


def command_of(options: argparse.Namespace, gpus: int) -> list[str]:
    wanted = {
        "--host": "0.0.0.0",
        "--port": 8000,
        "--served-model-name": options.served_model_name,
        "--tensor-parallel-size": options.tensor_parallel_size or max(gpus, 1),
        "--gpu-memory-utilization": options.gpu_memory_utilization,
        "--kv-cache-memory-bytes": None if options.kv_cache_gib is None else options.kv_cache_gib * GIB,
        "--dtype": options.dtype,
        "--max-model-len": options.max_model_len,
        "--max-num-seqs": options.max_num_seqs,
        "--quantization": options.quantization,
        "--middleware": "require_token.RequireToken",
    }
    return [
        "vllm",
        "serve",
        str(options.model),
        *(f"{name}={value}" for name, value in wanted.items() if value is not None),
        *(["--enforce-eager"] if options.enforce_eager else []),
    ]


def main() -> None:
    options = read_options(sys.argv[1:])
    if not (options.model / "config.json").is_file():
        sys.exit(f"There is no model at {options.model}. Publish its files and name their digest in the manifest.")
    gpus = count_gpus(os.listdir("/dev"), os.environ)
    if gpus < options.tensor_parallel_size:
        sys.exit(f"The container has {gpus} GPUs, but {options.tensor_parallel_size} are requested.")
    ensure_token()  # require_token.py reads it from its file: every process can read a command line
    os.execv(PROGRAM, command_of(options, gpus))  # noqa: S606


if __name__ == "__main__":
    main()
