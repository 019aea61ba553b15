"""The generator: its files are committed as it writes them, and the blocking code is the async code without await."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpuaas_sdk_gen.client import generated_files
from gpuaas_sdk_gen.contract import Contract
from gpuaas_sdk_gen.groups import render_groups
from gpuaas_sdk_gen.models import render_models
from gpuaas_sdk_gen.unasync import remove_await

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "sdk" / "gpuaas_sdk"


def test_the_committed_client_is_up_to_date() -> None:
    files = generated_files(json.loads((ROOT / "contract" / "openapi.json").read_text()), PACKAGE)
    assert [name for name, text in files.items() if (PACKAGE / name).read_text() != text] == []
    written = {
        str(one.relative_to(PACKAGE)) for folder in ("generated", "sync") for one in (PACKAGE / folder).glob("*.py")
    }
    assert written == set(files), "nothing else lies among the generated files"


@pytest.mark.parametrize(
    ("awaited", "plain"),
    [
        ("async def f() -> AsyncIterator[int]:\n    yield await g()", "def f() -> Iterator[int]:\n    yield g()"),
        ("async with aclosing(x) as y:", "with closing(x) as y:"),
        ("await asyncio.to_thread(file.read, CHUNK)", "file.read(CHUNK)"),
        ("Callable[[str], Awaitable[Mapping[str, object]]]", "Callable[[str], Mapping[str, object]]"),
        ("[one async for one in self]", "[one for one in self]"),
    ],
)
def test_the_blocking_code_is_the_async_code_without_await(awaited: str, plain: str) -> None:
    assert remove_await(awaited) == plain


def test_nothing_of_the_event_loop_is_left_in_the_blocking_code() -> None:
    for source in (PACKAGE / "sync").glob("*.py"):
        code = re.sub(r'"""[\s\S]*?"""|#.*', "", source.read_text())
        assert re.findall(r"async|await|Async", code) == []


def contract(**operation: Any) -> Contract:
    said = {"operationId": "thing_show", "x-call": "things.show", "responses": {"200": answer("Thing")}, **operation}
    schemas = {
        "Thing": {"properties": {"id": {"type": "string"}, "secret": {"type": "string"}}, "required": ["id"]},
        "ThingDetail": {"properties": {"id": {"type": "string"}}},
    }
    return Contract({"paths": {"/api/v1/things/{thing_id}": {"get": said}}, "components": {"schemas": schemas}})


def answer(name: str) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}}


def test_an_operation_without_a_name_for_clients_has_no_call() -> None:
    nameless = contract()
    del nameless.document["paths"]["/api/v1/things/{thing_id}"]["get"]["x-call"]
    assert nameless.groups() == {}


def test_a_method_has_the_description_of_the_contract() -> None:
    text = render_groups(contract(description="One thing."))
    assert 'async def show(self, thing_id: str) -> Thing:\n        """One thing."""' in text
    assert 'path=path_of("things", thing_id)' in text


def test_a_secret_is_not_in_the_repr_of_a_model() -> None:
    assert 'secret: str = field(repr=False, default="")' in render_models(contract(), frozenset({"ThingTraits"}))
