"""Routers whose routes are in their final form when a noun is loaded.

FastAPI's `include_router` builds every route again at the first request: that takes as long as loading the nouns, and the
process keeps both. A test refuses it.
"""

from collections.abc import Sequence
from enum import Enum

from fastapi import APIRouter
from fastapi.routing import APIRoute

API = "/api/v1"


def api_router(prefix: str = "", tags: Sequence[str] = ()) -> APIRouter:
    """Return a noun's router. Its paths are below `/api/v1`, and an operation is named as its function is."""
    return root_router(API + prefix, tags)


def root_router(prefix: str = "", tags: Sequence[str] = (), include_in_schema: bool = True) -> APIRouter:
    named: list[str | Enum] = list(tags)
    return APIRouter(
        prefix=prefix, tags=named, include_in_schema=include_in_schema, generate_unique_id_function=_function_name
    )


def add_routes(router: APIRouter, *others: APIRouter) -> None:
    """Serve the routes of other modules of a noun through its router."""
    for other in others:
        router.routes.extend(other.routes)


def _function_name(route: APIRoute) -> str:
    return route.name
