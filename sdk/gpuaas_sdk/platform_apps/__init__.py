"""The platform's own apps: packages declare them, and one process publishes them and runs their controllers.

A package declares an app by an entry point of the group `gpuaas.apps`: its name, and a function that returns a `PlatformApp`.
`python -m gpuaas_sdk.platform_apps` is the process. It is a client of the public API like any other.
"""

from gpuaas_sdk.platform_apps.declaration import AppNotReady, PlatformApp

__all__ = ["AppNotReady", "PlatformApp"]
