"""The bytes of a blob as an answer: streamed from the directory, or a redirect into the bucket."""

import re

from starlette.responses import RedirectResponse, Response, StreamingResponse

from gpuaas_server.artifacts import backends
from gpuaas_server.artifacts.directory_store import DirectoryStore
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings

OCTETS = "application/octet-stream"
DOWNLOAD_SECONDS = (
    60  # to begin the download; a later request is checked again, and refused if the artifact was revoked
)
BYTES: dict[str, object] = {"content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}}
REST: dict[str, object] = {"description": "The bytes from the first that was asked for.", **BYTES}
ELSEWHERE: dict[str, object] = {"description": "Redirect to the bucket, with a URL that is valid for one minute."}
_FROM = re.compile("bytes=([0-9]{1,15})-")


def content_response(settings: Settings, key: str, wanted: str | None) -> Response:
    """Answer with the blob, or with the rest of it that a Range header asks for. A bucket reads the header itself."""
    store = backends.blob_store(settings)
    if not isinstance(store, DirectoryStore):
        return RedirectResponse(store.download_ticket(key, "", DOWNLOAD_SECONDS).url, 307)
    if not store.holds(key):
        raise Problem("storage_unavailable", "The stored bytes are missing.")
    size, asked = store.size(key), _FROM.fullmatch(wanted or "")
    first = int(asked[1]) if asked else 0
    if not asked or first >= size:
        return StreamingResponse(store.read(key), 200, {"Content-Length": str(size)}, OCTETS)
    headers = {"Content-Length": str(size - first), "Content-Range": f"bytes {first}-{size - 1}/{size}"}
    return StreamingResponse(store.read(key, first), 206, headers, OCTETS)
