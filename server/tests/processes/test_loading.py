"""What api and worker load when they start: it takes time before the first answer, and memory for ever."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CONTRACT = Path(__file__).parents[3] / "contract" / "openapi.json"
WEB = {"fastapi", "starlette", "uvicorn", "anyio", "opentelemetry"}
# Needed by some work: by manifests, inputs of apps, and buckets.
NEEDED_SELDOM = {"yaml", "jsonschema_rs", "xml.etree.ElementTree"}
WORKER = """
import gpuaas_server.main
gpuaas_server.main.defer_validators()
import gpuaas_server.processes.worker
from pydantic import BaseModel

def below(kind):
    return {one for each in kind.__subclasses__() for one in {each, *below(each)} if one.__module__.startswith("gpuaas_server")}
"""


def said_by(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(("process", "absent"), [("api", NEEDED_SELDOM), ("worker", NEEDED_SELDOM | WEB)])
def test_a_process_loads_nothing_that_it_does_not_need_yet(process: str, absent: set[str]) -> None:
    loaded = set(said_by(f"import sys, gpuaas_server.processes.{process}; print(*sys.modules)"))
    assert f"gpuaas_server.processes.{process}" in loaded
    assert loaded & absent == set()


def test_the_worker_builds_the_validator_of_a_wire_type_when_it_is_first_used() -> None:
    program = WORKER + "print(sum(each.__pydantic_complete__ for each in below(BaseModel)), len(below(BaseModel)))"
    built, known = map(int, said_by(program))
    assert known > 200
    assert built < known / 10


def test_every_wire_type_can_be_built_later() -> None:
    program = WORKER + "[each.model_rebuild() for each in below(BaseModel)]\n"
    program += "print(*(each.__name__ for each in below(BaseModel) if not each.__pydantic_complete__), 'checked')"
    assert said_by(program) == ["checked"]


def patterns(document: object) -> Iterator[str]:
    if isinstance(document, dict):
        if isinstance(document.get("pattern"), str):
            yield document["pattern"]
        yield from (one for each in document.values() for one in patterns(each))
    elif isinstance(document, list):
        yield from (one for each in document for one in patterns(each))


def test_no_pattern_counts_to_thousands() -> None:
    """A repetition takes as many states as it counts to: `{16,4000}` was two megabytes and two milliseconds, eighteen times."""
    found = set(patterns(json.loads(CONTRACT.read_text())))
    assert len(found) > 50
    counts = {int(most): one for one in found for most in re.findall(r"\{(?:\d*,)?(\d+)\}", one)}
    assert max(counts) < 1000, counts[max(counts)]
