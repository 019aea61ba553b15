"""Records who did what, to what, and whether it was allowed. Rows are only ever added (a trigger refuses the rest)."""
