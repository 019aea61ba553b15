"""The `gpuaas` command, assembled from its groups."""

import signal
from typing import Annotated

import typer

from gpuaas_cli import __version__
from gpuaas_cli.command_group import CommandGroup, OutputOption, RootOptions
from gpuaas_cli.commands import (
    allocations,
    apps,
    artifacts,
    audit,
    config,
    controllers,
    credentials,
    deletions,
    events,
    instances,
    logs,
    members,
    nodes,
    operations,
    platform_keys,
    projects,
    quota,
    receipts,
    secret_keys,
    service_accounts,
    sign_in,
    signing_keys,
    skus,
    slots,
    ssh_certificates,
    ssh_grants,
    ssh_keys,
    tenants,
    terminals,
    trust,
    up,
    usage,
    users,
    versions,
)
from gpuaas_cli.plugins import add_plugins

app = CommandGroup("GPU allocations, from the command line.")
sign_in.add_to(app)
for name, room in (
    ("allocations", allocations),
    ("apps", apps),
    ("controllers", controllers),
    ("versions", versions),
    ("instances", instances),
    ("operations", operations),
    ("artifacts", artifacts),
    ("trust", trust),
    ("ssh-keys", ssh_keys),
    ("ssh-grants", ssh_grants),
    ("ssh-certificates", ssh_certificates),
    ("terminals", terminals),
    ("credentials", credentials),
    ("receipts", receipts),
    ("skus", skus),
    ("quota", quota),
    ("usage", usage),
    ("events", events),
    ("audit", audit),
    ("projects", projects),
    ("members", members),
    ("service-accounts", service_accounts),
    ("tenants", tenants),
    ("deletions", deletions),
    ("users", users),
    ("nodes", nodes),
    ("slots", slots),
    ("platform-keys", platform_keys),
    ("secret-keys", secret_keys),
    ("signing-keys", signing_keys),
    ("config", config),
):
    app.add_typer(room.group, name=name)
logs.add_to(app)
up.add_to(app)
add_plugins(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gpuaas {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    output: OutputOption = None,
    server: Annotated[
        str | None,
        typer.Option("--server", help="Address of the server. Default: GPUAAS_URL, or the configured address."),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """GPU allocations, from the command line.

    Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 not signed in or denied, 5 conflict or capacity,
    6 deadline, 130 interrupted.
    """
    context.obj = RootOptions(output, server)


def main() -> None:
    # A shell starts background jobs with SIGINT ignored, but SIGINT must end a follow or a watch.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    app(prog_name="gpuaas")


if __name__ == "__main__":
    main()
