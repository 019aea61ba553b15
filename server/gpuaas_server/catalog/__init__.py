"""The catalogue: apps, their versions from manifests, who may see them, and what fits where (the compatibility check)."""
