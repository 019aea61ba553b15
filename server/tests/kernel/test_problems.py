"""Every code of the catalogue says what to do next, and every problem has the one form."""

import re
from pathlib import Path

import orjson
import pytest

from gpuaas_server import app
from gpuaas_server.kernel.errors import CATALOGUE, Problem
from gpuaas_server.kernel.errors.apps import APPS
from gpuaas_server.kernel.errors.artifacts import ARTIFACTS
from gpuaas_server.kernel.errors.capacity import CAPACITY
from gpuaas_server.kernel.errors.foundation import FOUNDATION
from gpuaas_server.kernel.http.problems import problem_response

SOURCES = Path(app.__file__).parent
_RAISED = re.compile(r'Problem\(\s*"([a-z_]+)"')


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_every_code_has_a_title_and_a_next_step_that_is_a_sentence(code: str) -> None:
    kind = CATALOGUE[code]
    assert re.fullmatch("[a-z][a-z_]+", code)
    assert 400 <= kind.status <= 599
    assert kind.title[0].isupper()
    assert not kind.title.endswith(".")
    assert kind.next_step[0].isupper()
    assert kind.next_step.endswith(".")


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_every_code_becomes_a_whole_problem_document(code: str) -> None:
    answer = problem_response(Problem(code), "correlation-1")
    document = orjson.loads(bytes(answer.body))
    assert answer.media_type == "application/problem+json"
    assert document["type"] == f"urn:gpuaas:error:{code}"
    assert document["status"] == answer.status_code == CATALOGUE[code].status
    assert document["detail"].endswith(".")
    assert document["correlation_id"] == "correlation-1"
    assert ("WWW-Authenticate" in answer.headers) == (answer.status_code == 401)


def test_no_code_is_in_the_catalogue_twice() -> None:
    assert len(CATALOGUE) == len(FOUNDATION) + len(CAPACITY) + len(APPS) + len(ARTIFACTS)


def test_every_code_that_is_raised_is_in_the_catalogue() -> None:
    raised = {code for file in SOURCES.rglob("*.py") for code in _RAISED.findall(file.read_text())}
    assert raised - CATALOGUE.keys() == set()
