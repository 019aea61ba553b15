"""Tenants, their projects, and who is a member of them."""
