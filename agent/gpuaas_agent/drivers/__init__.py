"""How an allocation of a given shape is made and unmade on this host. One driver a shape."""
