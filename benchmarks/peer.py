"""The peer of authenticated reads: the least a FastAPI service with PyJWT and psycopg does for the same answer.

`python -m benchmarks.peer PORT DATABASE_URL`; the public key comes as hex in PEER_KEY.
"""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Annotated, Any

import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from fastapi import Depends, FastAPI, Header, HTTPException
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel

AUDIENCE = "peer"
_QUERY = (
    "SELECT id, project_id, batch_id, name, sku_id, sku_name, shape, gpu_model, gpu_count, node_id, state, state_since,"
    " deadline_at, phase, created_by, correlation_id, created_at, active_at, ended_at, generation"
    " FROM allocations WHERE id = %s AND project_id = %s"
)


class Allocation(BaseModel):
    """The same fields as the platform's answer."""

    id: str
    project_id: str
    batch_id: str | None
    name: str | None
    sku_id: str
    sku_name: str
    shape: str
    gpu_model: str
    gpu_count: int
    node_id: str
    state: str
    state_since: datetime
    deadline_at: datetime | None
    phase: str | None
    failure: dict[str, object] | None = None
    ssh: dict[str, object] | None = None
    wipe_verified: bool | None = None
    created_by: str
    correlation_id: str
    created_at: datetime
    active_at: datetime | None
    ended_at: datetime | None
    generation: int
    allowed_actions: list[str] = ["release"]


def build(url: str, key: Ed25519PublicKey) -> FastAPI:
    pool = AsyncConnectionPool[AsyncConnection[dict[str, Any]]](
        url, open=False, min_size=4, max_size=8, kwargs={"autocommit": True, "row_factory": dict_row}
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with pool:
            yield

    app = FastAPI(lifespan=lifespan)

    async def caller(authorization: Annotated[str, Header()]) -> dict[str, object]:
        try:
            return jwt.decode(authorization.removeprefix("Bearer "), key, algorithms=["EdDSA"], audience=AUDIENCE)
        except jwt.InvalidTokenError as error:
            raise HTTPException(401) from error

    @app.get("/api/v1/projects/{project_id}/allocations/{allocation_id}")
    async def show(
        project_id: str, allocation_id: str, who: Annotated[dict[str, object], Depends(caller)]
    ) -> Allocation:
        async with pool.connection() as connection:
            row = await (await connection.execute(_QUERY, (allocation_id, project_id))).fetchone()
        if row is None or not who.get("sub"):
            raise HTTPException(404)
        return Allocation(**row)

    return app


if __name__ == "__main__":
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(os.environ["PEER_KEY"]))
    app = build(sys.argv[2], public)
    uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False, loop="uvloop", http="httptools")
