"""Starts JupyterLab in its container. The token is in a file on the volume; of a password, only the hash is known."""

import os

from access_token import TOKEN_FILE, ensure_token

ensure_token()
os.environ["JUPYTER_TOKEN_FILE"] = str(TOKEN_FILE)
os.execv("/opt/app/bin/jupyter-lab", ["jupyter-lab", "--config=/opt/launch/jupyter_server_config.py"])  # noqa: S606
