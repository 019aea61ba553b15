"""The gate that every call passes: who is it, where do they want to go, may they. Refusals are written down."""
