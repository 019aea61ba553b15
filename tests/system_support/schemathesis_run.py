"""Builds the cases of one operation when its test runs.

Schemathesis' own `parametrize()` builds the cases of all operations while tests are collected, and every test process collects:
40 s of CPU for each of them before the first test.
"""

import functools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import settings
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.generation.hypothesis.builder import InvalidHeadersExampleMark, MissingPathParameters
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.specs.openapi.schemas import OpenApiSchema

from gpuaas_server.contract import openapi_document

CONTRACT = Path(__file__).parents[2] / "contract" / "openapi.json"


def operation_tags() -> dict[str, list[str]]:
    """The operations of the committed contract with their tags; `assert_contract_is_current` holds them against the code."""
    paths = json.loads(CONTRACT.read_text())["paths"]
    return {
        operation["operationId"]: operation.get("tags", [])
        for methods in paths.values()
        for operation in methods.values()
    }


def assert_contract_is_current() -> None:
    served = {operation["operationId"] for methods in _document()["paths"].values() for operation in methods.values()}
    assert served == set(operation_tags()), "contract/openapi.json is stale: make contract"


@functools.cache
def _document() -> dict[str, Any]:
    return openapi_document()


class FuzzedApi:
    """The API's document with one configuration of schemathesis, read when the first test needs it."""

    def __init__(self, config: Mapping[str, object], bounds: settings) -> None:
        self._config = config
        self._bounds = bounds

    @functools.cached_property
    def _schema(self) -> OpenApiSchema:
        return schemathesis.openapi.from_dict(_document(), config=schemathesis.Config.from_dict(dict(self._config)))

    def fuzz(self, operation_id: str, attempt: Callable[[schemathesis.Case[Any]], None]) -> None:
        """Call `attempt` with each case of the operation."""

        def one_case(case: schemathesis.Case[Any]) -> None:
            attempt(case)

        run = build_operation_test(
            config=self._schema.config,
            operation=self._schema.find_operation_by_id(operation_id),
            test_func=one_case,
            given_kwargs={},
            feedback=FeedbackSources(),
            explicit_settings=self._bounds,
        )
        run()
        # What schemathesis left out since the document is wrong fails the test, as its own `parametrize()` has it.
        assert MissingPathParameters.get(run) is None
        assert InvalidHeadersExampleMark.get(run) is None
