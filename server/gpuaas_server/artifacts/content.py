"""The bytes of a blob as an answer: streamed from the directory, or a redirect into the bucket."""

from starlette.responses import RedirectResponse, Response, StreamingResponse

from gpuaas_server.artifacts import backends
from gpuaas_server.artifacts.stores import DirectoryStore
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings

DOWNLOAD_SECONDS = 60  # to begin with; whoever asks later is looked at again, and what was revoked is refused
BYTES: dict[str, object] = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
ELSEWHERE: dict[str, object] = {"description": "Redirect to the bucket, with a URL that is valid for one minute."}


def content_response(settings: Settings, key: str) -> Response:
    store = backends.blob_store(settings)
    if isinstance(store, DirectoryStore):
        if not store.holds(key):
            raise Problem("storage_unavailable", "The stored bytes are missing.")
        return StreamingResponse(store.read(key), media_type="application/octet-stream")
    return RedirectResponse(store.download_ticket(key, "", DOWNLOAD_SECONDS).url, 307)
