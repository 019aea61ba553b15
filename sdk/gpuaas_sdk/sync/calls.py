# Derived from gpuaas_sdk/aio/calls.py by tools/sdk-client; change that file instead.
"""The base of all generated calls: it reads one record, a list, pages or bytes."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Generic, TypeVar

from gpuaas_sdk.errors import Problem, ServerFailed
from gpuaas_sdk.reader import read
from gpuaas_sdk.sync.transport import Request, Transport

Record = TypeVar("Record")
PAGE_SIZE = 100


class Pages(Generic[Record]):
    """All items of a list, fetched page by page during iteration."""

    def __init__(self, kind: type[Record], fetch: Callable[[str | None], Mapping[str, object]]) -> None:
        self._kind = kind
        self._fetch = fetch

    def __iter__(self) -> Iterator[Record]:
        cursor: str | None = None
        while True:
            page = self._fetch(cursor)
            for item in items_of(self._kind, page):
                yield item
            following = page.get("next_cursor")
            if following is None or following == cursor:
                return
            cursor = str(following)

    def first(self, count: int) -> list[Record]:
        found: list[Record] = []
        if count > 0:
            for item in self:
                found.append(item)
                if len(found) == count:
                    break
        return found

    def all(self) -> list[Record]:
        return [item for item in self]


class Calls:
    """The base of a group of calls: `Allocations(transport).show(…)`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _read(self, kind: type[Record], request: Request) -> Record:
        return read(kind, self._object(request))

    def _items(self, kind: type[Record], request: Request) -> list[Record]:
        return items_of(kind, self._object(request))

    def _pages(self, kind: type[Record], request: Request) -> Pages[Record]:
        def fetch(cursor: str | None) -> Mapping[str, object]:
            query = {"limit": PAGE_SIZE, **request.query, "after": cursor}
            return self._object(replace(request, query=query))

        return Pages(kind, fetch)

    def _bytes(self, request: Request) -> Iterator[bytes]:
        return self._transport.download(request)

    def _discard(self, request: Request) -> None:
        self._transport.send(request)

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
            next_step="Check that the address belongs to a gpuaas server.",
            correlation_id=request.correlation_id,
        )
        raise ServerFailed(problem)


def items_of(kind: type[Record], answer: Mapping[str, object]) -> list[Record]:
    items = answer.get("items")
    return [read(kind, item) for item in items] if isinstance(items, list) else []
