"""Allocations: a project's hold on a node or a slice of one, from request to proven release."""
