"""An embedded PostgreSQL for one machine: real binaries from a wheel, under our own supervision."""
