"""Access of people and controllers: SSH keys, grants, login certificates, credentials, members, key rotation."""
