"""The catalogue: apps, their versions from manifests, who may see them, and the gate that says what fits where."""
