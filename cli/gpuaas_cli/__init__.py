"""The `gpuaas` command. It reaches the platform only through gpuaas_sdk."""

__version__ = "0.1.0"
