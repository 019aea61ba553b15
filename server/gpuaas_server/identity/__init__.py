"""Who is calling and what they may do: users, service accounts, tokens, roles, and the gate of every call."""
