"""What tools/sdk-client writes from the contract."""
