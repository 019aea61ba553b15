"""The bytes of a blob as an answer: streamed from the directory, or a redirect into the bucket."""

from starlette.responses import RedirectResponse, Response, StreamingResponse

from gpuaas_server.artifacts import places
from gpuaas_server.artifacts.stores import DirectoryStore
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings

DOWNLOAD_SECONDS = 900
BYTES: dict[str, object] = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
ELSEWHERE: dict[str, object] = {"description": "To the bucket, by a URL that is good for minutes."}


def content_response(settings: Settings, key: str) -> Response:
    store = places.blob_store(settings)
    if isinstance(store, DirectoryStore):
        if not store.holds(key):
            raise Problem("storage_unavailable", "The bytes are not where they should be.")
        return StreamingResponse(store.read(key), media_type="application/octet-stream")
    return RedirectResponse(store.download_ticket(key, "", DOWNLOAD_SECONDS).url, 307)
