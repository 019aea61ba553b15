"""`make up`: print what runs now and the exact commands to continue with, then wait for Ctrl-C."""

import signal
from typing import NoReturn

from gpuaas_lab.demo.context import DemoContext
from gpuaas_lab.demo.steps.cluster import NAME, Cluster
from gpuaas_sdk import Instance

GPUAAS = ".venv/bin/gpuaas"


def show_instructions_and_wait(context: DemoContext, cluster: Cluster | None) -> NoReturn:
    platform = context.platform
    lines = [
        "\n[bold]gpuaas is up[/bold] (Ctrl-C stops it and removes everything)",
        f"  console        {platform.url}",
        f"  API            {platform.url}/api/v1   reference {platform.url}/docs",
        f"  administrator  {platform.admin_email}   password {platform.admin_password}   (shown once)",
        f"  sign in        {GPUAAS} --server {platform.url} login {platform.admin_email}",
        f"                 {GPUAAS} config set project acme/training",
        f"  allocate       {GPUAAS} allocations create --sku h100-slice --gpus 2 --name mine --watch",
        *([] if cluster is None else _cluster_lines(cluster.now(context), cluster)),
        f"  log            {platform.log_file}",
    ]
    for line in lines:
        context.report.console.print(line, soft_wrap=True)  # a command that wraps cannot be copied
    while True:
        signal.pause()


def _cluster_lines(instance: Instance, cluster: Cluster) -> list[str]:
    """Print the commands of the access bundle: they were tested when it was made."""
    bundle = instance.access_bundle or {}
    commands, login = bundle.get("commands"), bundle.get("login")
    lines = ["", f"[bold]Slurm is up[/bold]: {NAME}, two nodes, {instance.health}. After signing in:"]
    if isinstance(login, dict):
        lines.append(f"  {'enter':<14} {_in_checkout(login['shell'])}   then   {login['become']}")
    if isinstance(commands, dict):
        lines += [f"  {name.replace('_', ' '):<14} {_in_checkout(command)}" for name, command in commands.items()]
    more = f"{GPUAAS} allocations create --sku h100-node --name third --watch"
    return [
        *lines,
        f"  add a worker   {more} && {GPUAAS} instances members add {NAME} third --component worker --watch",
        f"  show it        {GPUAAS} instances show {NAME}   (health, members, the access bundle)",
        f"  remove it      {GPUAAS} instances decommission {NAME} --watch && {GPUAAS} receipts list",
        "",
    ]


def _in_checkout(command: object) -> str:
    """Rewrite a `gpuaas` command so that it works when typed in this checkout."""
    return str(command).replace("gpuaas ", f"{GPUAAS} ", 1)
