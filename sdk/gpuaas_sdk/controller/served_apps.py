"""Which apps a controller serves: the one that it names, or all that its service account is bound to at the moment."""

from collections.abc import Sequence

from gpuaas_sdk.controller.app import AppController
from gpuaas_sdk.controller.client import ControllerClient

ALL_APPS = ""  # the slug of a controller that serves every app that its service account is bound to


def serves_all_apps(app: AppController) -> bool:
    return app.slug == ALL_APPS


def title_of(app: AppController) -> str:
    """What a log calls the apps of the controller."""
    return app.slug or "all bound apps"


async def find_served_apps(app: AppController, client: ControllerClient) -> Sequence[str]:
    """Return the slugs that count now. An app that was bound a moment ago is among them; one that was taken away is not."""
    return await client.list_bound_apps() if serves_all_apps(app) else [app.slug]
