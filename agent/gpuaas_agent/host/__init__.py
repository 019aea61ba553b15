"""Knowledge of a Debian host: its SSH service, accounts, processes, ports, mounts, units, files."""
