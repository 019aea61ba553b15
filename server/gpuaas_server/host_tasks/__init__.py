"""Signed orders to the agent of a node, and what came of them."""
