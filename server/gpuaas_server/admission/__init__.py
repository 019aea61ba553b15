"""The gate that every call passes: it authenticates the caller, asks the policy, and records refusals."""
