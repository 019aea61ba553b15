# Derived from gpuaas_sdk/aio/__init__.py by tools/sdk-client; change that file instead.
"""The hand-written layer under and over the generated calls: transport, tokens, pages, watches, bytes.

tools/sdk-client derives the blocking version, gpuaas_sdk/sync, from it.
"""

from gpuaas_sdk.sync.client import Client

__all__ = ["Client"]
