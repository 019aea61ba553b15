"""Settings of JupyterLab in its container."""

import os

c = get_config()  # type: ignore[name-defined]  # noqa: F821  # Jupyter gives it to this file
c.ServerApp.ip = "0.0.0.0"
c.ServerApp.port = 8888
c.ServerApp.port_retries = 0  # the host offers only this port
c.ServerApp.open_browser = False
c.ServerApp.allow_remote_access = True
c.ServerApp.root_dir = "/data"
c.ServerApp.quit_button = False  # the platform stops it
c.PasswordIdentityProvider.hashed_password = os.environ.get("PASSWORD_HASH", "")
