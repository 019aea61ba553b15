"""Knows who is calling and what they may do: users, service accounts, sessions, tokens, roles, and the table of the policy."""
