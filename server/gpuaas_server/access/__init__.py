"""The platform's own keys and what is signed with them: SSH certificates, the API's TLS certificate; people's SSH keys."""
