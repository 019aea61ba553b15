"""Log lines of what runs in an allocation: read from the journal of its units, and handed to the platform in portions."""
