"""The gpuaas control plane: api and worker over PostgreSQL. Rooms are nouns; `kernel` and `work` serve them all."""

__version__ = "0.1.0"
