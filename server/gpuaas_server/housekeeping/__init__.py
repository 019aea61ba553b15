"""What must be swept now and then: expired idempotency answers, old events, history, certificates, tokens, audit rows."""
