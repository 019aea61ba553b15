"""App instances and their members: what a project runs on its allocations. An app's controller does the work."""
