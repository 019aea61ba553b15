"""Reads and changes a Debian host: its SSH service, accounts, processes, ports, mounts, units and files."""
