"""The demo's steps, one module each: preparation, allocations, offer, cluster, jobs, teardown, audit trail."""
