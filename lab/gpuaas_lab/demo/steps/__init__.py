"""The demo's steps, one module each: preparation, allocations, publication, cluster, jobs, teardown, audit trail."""
