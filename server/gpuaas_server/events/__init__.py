"""The event log: written in the transaction that makes the change (the outbox), read by cursor, long poll or SSE."""
