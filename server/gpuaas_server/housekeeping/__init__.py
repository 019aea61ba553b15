"""Removes what has expired: idempotency answers, events, history, certificates, tokens and audit rows."""
