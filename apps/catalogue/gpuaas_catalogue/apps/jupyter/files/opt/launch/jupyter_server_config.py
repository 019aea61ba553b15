"""Settings of JupyterLab in its container."""

import os
import sys

c = get_config()  # type: ignore[name-defined]  # noqa: F821  # Jupyter gives it to this file
c.ServerApp.ip = "0.0.0.0"
c.ServerApp.port = 8888
c.ServerApp.port_retries = 0  # the host offers only this port
c.ServerApp.open_browser = False
c.ServerApp.allow_remote_access = True
c.ServerApp.root_dir = "/data"
c.ServerApp.quit_button = False  # the platform stops it
sys.path.append("/opt/launch")  # of the server only, not of kernels
c.ServerApp.jpserver_extensions = {"version_page": True}
c.PasswordIdentityProvider.hashed_password = os.environ.get("PASSWORD_HASH", "")
