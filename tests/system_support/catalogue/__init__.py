"""Proofs that an app of the catalogue really works, by its address, port and token; and a host that runs its image."""
