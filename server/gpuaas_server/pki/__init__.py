"""The platform's own keys and certificate authorities: for tasks, SSH, TLS, client certificates and the registry."""
