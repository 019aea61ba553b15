"""The hand-written layer under and over the generated calls: transport, tokens, pages, watches, bytes.

tools/sdk-client derives the blocking version, gpuaas_sdk/sync, from it.
"""

from gpuaas_sdk.aio.client import AsyncClient

__all__ = ["AsyncClient"]
