# Derived from gpuaas_sdk/aio/__init__.py by tools/sdk-client; change that file instead.
"""The layer over the generated calls, written for an event loop: transport, tokens, pages, watches, bytes.

Its twin without await, gpuaas_sdk/sync, is derived from it by tools/sdk-client.
"""

from gpuaas_sdk.sync.client import Client

__all__ = ["Client"]
