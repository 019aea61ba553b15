"""The small world of the SDK's testing kit, under the name that these tests know."""

from gpuaas_sdk.testing.world import MODEL, World

__all__ = ["MODEL", "World"]
