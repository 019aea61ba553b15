"""Reads what the query of a list says about its page. For endpoints; services know `Page` and `PageRequest`."""

from typing import Annotated

from fastapi import Depends, Query

from gpuaas_server.kernel.pages import PageRequest

PageLimit = Annotated[int, Query(ge=1, le=200, description="Largest number of items.")]
PageAfter = Annotated[
    str | None,
    Query(pattern="^[a-z]{2,3}_[0-9a-z]{26}$", description="Cursor: `next_cursor` of the previous page."),
]


async def _read_page(after: PageAfter = None, limit: PageLimit = 50) -> PageRequest:
    return PageRequest(after, limit)


PageQuery = Annotated[PageRequest, Depends(_read_page)]
