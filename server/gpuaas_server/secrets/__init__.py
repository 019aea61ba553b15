"""The secret store: sealed values with versions, the keys that wrap them, and boxes that only one recipient can open."""
