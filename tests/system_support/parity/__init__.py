"""Which operation of the public API is offered where: read off the contract, the CLI's code and the console's."""
