"""Waits until the app is offered: the platform publishes its own apps and runs their controllers by itself."""

from gpuaas_lab.demo.app import SLUG
from gpuaas_lab.demo.context import SETTLE_SECONDS, DemoContext
from gpuaas_sdk import CatalogEntry, NotFound


def await_offer(context: DemoContext) -> None:
    with context.report.step("Find Slurm in the catalogue, served by the platform's own controller") as step:
        entry = await_live(context, SLUG)
        (consent,) = [one for one in context.admin.controller_consents.list(context.tenant_id) if one.app_slug == SLUG]
        step.detail = (
            f"{entry.slug} {entry.latest}, {entry.controller.message} Consent came with the {consent.given_with};"
            " the tenant can withdraw it"
        )


def await_live(context: DemoContext, slug: str) -> CatalogEntry:
    """Wait until the catalogue offers the app and a controller serves it."""
    return context.customer.wait_for(lambda: _served(context, slug), SETTLE_SECONDS, f"a live controller of {slug}")


def _served(context: DemoContext, slug: str) -> CatalogEntry | None:
    try:
        entry = context.customer.catalog.show(context.project_id, slug)
    except NotFound:
        return None
    return entry if entry.controller.state == "live" else None
