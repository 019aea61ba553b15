"""The gpuaas control plane: api and worker over PostgreSQL. Each folder is a noun; all of them use `kernel` and `work`."""

__version__ = "0.1.0"
