"""What whole-system tests, the CLI's tests and the benchmarks share: a real server, simulated fleets, a small sandbox."""
