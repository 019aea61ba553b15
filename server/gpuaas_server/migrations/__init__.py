"""Schema changes: expand, then contract; each tested up and down, each under lock and statement timeouts."""
