"""Starts marimo in its container: it reads its token from a file of the volume, and does not print it."""

import os

from access_token import TOKEN_FILE, ensure_token

ensure_token()
# Quiet, because marimo's greeting is an address with the token in it.
arguments = ["marimo", "--quiet", "edit", "--headless", "--host=0.0.0.0", "--port=2718", "--skip-update-check"]
os.execv("/opt/app/bin/marimo", [*arguments, f"--token-password-file={TOKEN_FILE}", "/data"])  # noqa: S606
