"""The worker process: it runs every reconciler, keeps the recurring work rows, and relays events."""

import asyncio
import gc
import signal
from functools import partial

import uvloop
from prometheus_client import start_http_server

from gpuaas_server.access.jobs import AccessEndJob, OperationAccessEndJob, SshKeysDeleteJob
from gpuaas_server.allocations.reconciler import AllocationReconciler
from gpuaas_server.artifacts.jobs import ArtifactCheckJob, ArtifactDeleteJob
from gpuaas_server.artifacts.reconciler import PublishIntentReconciler
from gpuaas_server.controllers.reconciler import AppServiceReconciler
from gpuaas_server.deletions.reconciler import DeletionReconciler
from gpuaas_server.events.relay import JsonLinesSink, relay
from gpuaas_server.housekeeping import jobs as housekeeping
from gpuaas_server.identity import signing_keys
from gpuaas_server.instances.jobs import (
    ControllerLeasesJob,
    InstanceDriftJob,
    InstanceFlagJob,
    InstanceHealthJob,
    SmokeLaunchJob,
)
from gpuaas_server.instances.reconciler import OperationReconciler
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.metrics import registry
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.kernel.tasks import stop
from gpuaas_server.logs.reconciler import LogReadReconciler
from gpuaas_server.nodes.machine import SUBJECT as ALL_NODES
from gpuaas_server.nodes.reconciler import DrainReconciler, MaintenanceReconciler, NodeLivenessReconciler
from gpuaas_server.pki import service as pki
from gpuaas_server.processes.data_lock import create_data_directory
from gpuaas_server.runtime import running_platform
from gpuaas_server.secrets.jobs import KeyCustodyJob, SecretEraseJob, SecretRewrapJob
from gpuaas_server.secrets.keys import REWRAP
from gpuaas_server.secrets.keys import SUBJECT as ALL_SECRETS
from gpuaas_server.terminals.reconciler import TerminalReconciler
from gpuaas_server.wiring import connect_hooks
from gpuaas_server.work import leases
from gpuaas_server.work.worker import Worker

# Private keys that an older release left under the master key, by the table they are in.
KEY_SOURCES = {"platform_keys": pki.KEY_SOURCE, "signing_keys": signing_keys.KEY_SOURCE}
METRICS_ADDRESS = "worker-metrics.address"


def build_worker(platform: Platform) -> Worker:
    connect_hooks()
    return Worker(
        platform,
        [
            AllocationReconciler(platform),
            OperationReconciler(platform),
            InstanceHealthJob(),
            InstanceDriftJob(platform),
            InstanceFlagJob(),
            ControllerLeasesJob(),
            AppServiceReconciler(platform),
            TerminalReconciler(),
            LogReadReconciler(),
            AccessEndJob(),
            OperationAccessEndJob(),
            SshKeysDeleteJob(),
            PublishIntentReconciler(platform.settings),
            ArtifactCheckJob(),
            SmokeLaunchJob(),
            ArtifactDeleteJob(platform.settings),
            DeletionReconciler(platform.settings),
            NodeLivenessReconciler(platform),
            MaintenanceReconciler(),
            DrainReconciler(),
            housekeeping.HousekeepingJob(platform),
            SecretRewrapJob(platform),
            SecretEraseJob(),
            KeyCustodyJob(platform, KEY_SOURCES),
        ],
    )


async def ensure_recurring_work(platform: Platform) -> None:
    async with platform.transaction(PLATFORM, system_actor("worker")) as tx:
        await leases.enqueue(tx, housekeeping.HousekeepingJob.kind, [housekeeping.SUBJECT])
        await leases.enqueue(tx, NodeLivenessReconciler.kind, [ALL_NODES])
        await leases.enqueue(tx, KeyCustodyJob.kind, list(KEY_SOURCES))
        await leases.enqueue(tx, REWRAP, [ALL_SECRETS])  # the backend may be another one than before


def _serve_metrics(settings: Settings) -> None:
    """Serve the metrics by a small server, since the worker answers no other requests. A file has its address."""
    if not settings.worker_metrics_bind:
        return
    host, _, port = settings.worker_metrics_bind.rpartition(":")
    server, _ = start_http_server(int(port), host.strip("[]"), registry)
    create_data_directory(settings.data_dir)
    (settings.data_dir / METRICS_ADDRESS).write_text(f"{host}:{server.server_port}\n")


async def serve(settings: Settings) -> None:
    async with running_platform(settings) as platform:
        await platform.database.health.until_available(partial(ensure_recurring_work, platform))
        stopping = asyncio.Event()  # from here on: a signal ends a process that still waits at once
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
        _serve_metrics(settings)
        worker = build_worker(platform)
        jobs = [asyncio.create_task(worker.run(), name="worker")]
        if settings.event_sink_file is not None:
            jobs.append(asyncio.create_task(relay(platform, JsonLinesSink(settings.event_sink_file))))
        gc.collect()
        gc.freeze()
        ended = asyncio.create_task(stopping.wait())
        await asyncio.wait([*jobs, ended], return_when=asyncio.FIRST_COMPLETED)
        await worker.stop()
        await stop(*jobs, ended)
        for job in jobs:
            if not job.cancelled():
                job.result()  # one that failed ends the process with its error


def run(settings: Settings) -> None:
    uvloop.run(serve(settings))
