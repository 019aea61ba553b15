"""HTTP conventions shared by all endpoints: correlation, problem documents, idempotency, pages, replies."""
