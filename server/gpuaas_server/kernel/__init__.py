"""What every noun stands on: ids, errors, settings, clock, database, HTTP conventions. Knows no noun."""
