"""Code that tools/sdk-client writes from the contract."""
