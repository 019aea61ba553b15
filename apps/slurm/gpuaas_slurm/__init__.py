"""Slurm as an app: a controller of its own that deploys and runs clusters inside allocations, by the public API alone."""
