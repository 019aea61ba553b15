"""The layer over the generated calls, written for an event loop: transport, tokens, pages, watches, bytes.

Its twin without await, gpuaas_sdk/sync, is derived from it by tools/sdk-client.
"""

from gpuaas_sdk.aio.client import AsyncClient

__all__ = ["AsyncClient"]
