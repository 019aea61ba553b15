"""What every noun's calls are made of: read one, read pages, change, discard."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from gpuaas_sdk.errors import Problem, ServerFailed
from gpuaas_sdk.reader import read
from gpuaas_sdk.transport import QueryValue, Request, Transport, path_of

Record = TypeVar("Record")
PAGE_SIZE = 100


class Pages(Generic[Record]):
    """All items of a list, fetched page by page while they are iterated."""

    def __init__(self, fetch: Callable[[str | None], tuple[list[Record], str | None]]) -> None:
        self._fetch = fetch

    def __iter__(self) -> Iterator[Record]:
        cursor: str | None = None
        while True:
            items, following = self._fetch(cursor)
            yield from items
            if following is None or following == cursor:
                return
            cursor = following

    def first(self, count: int) -> list[Record]:
        taken: list[Record] = []
        for item in self:
            if len(taken) == count:
                break
            taken.append(item)
        return taken


class Calls:
    """The base of a noun: `Allocations(transport).show(…)`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _read(self, kind: type[Record], *path: str, **query: QueryValue) -> Record:
        return self._record(kind, Request(method="GET", path=path_of(*path), query=query))

    def _pages(self, kind: type[Record], *path: str, **query: QueryValue) -> Pages[Record]:
        def fetch(cursor: str | None) -> tuple[list[Record], str | None]:
            asked = {"limit": PAGE_SIZE, **query, "after": cursor}
            answer = self._object(Request(method="GET", path=path_of(*path), query=asked))
            following = answer.get("next_cursor")
            return self._items(kind, answer), None if following is None else str(following)

        return Pages(fetch)

    def _change(
        self,
        method: str,
        kind: type[Record],
        *path: str,
        body: Mapping[str, object] | None = None,
        generation: int | None = None,
    ) -> Record:
        """Change something; with `generation`, only when it is still the one that was read."""
        headers = {} if generation is None else {"If-Match": f'"{generation}"'}
        request = Request(method=method, path=path_of(*path), body=body, headers=headers)
        return self._record(kind, request)

    def _discard(self, method: str, *path: str, body: Mapping[str, object] | None = None) -> None:
        self._transport.send(Request(method=method, path=path_of(*path), body=body))

    def _items(self, kind: type[Record], answer: Mapping[str, object]) -> list[Record]:
        items = answer.get("items")
        return [read(kind, item) for item in items] if isinstance(items, list) else []

    def _record(self, kind: type[Record], request: Request) -> Record:
        return read(kind, self._object(request))

    def _object(self, request: Request) -> Mapping[str, object]:
        response = self._transport.send(request)
        try:
            answer = response.json()
        except json.JSONDecodeError:
            answer = None
        if isinstance(answer, dict):
            return answer
        problem = Problem(
            code="unexpected_answer",
            status=response.status_code,
            detail=f"{request.path} did not answer with a JSON object.",
            next_step="Check that the address is that of a gpuaas server.",
            correlation_id=request.correlation_id,
        )
        raise ServerFailed(problem)


def given(**fields: object) -> dict[str, object]:
    """A request body of the fields that were given: None means 'not said', not 'set to null'."""
    return {name: value for name, value in fields.items() if value is not None}
