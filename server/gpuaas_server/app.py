"""The api application: every noun's router, the gate, the edge, health, metrics and the offline API reference."""

from importlib.util import find_spec
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.openapi.docs import get_swagger_ui_html
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel, Field
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from gpuaas_server import __version__
from gpuaas_server.access import endpoints as access
from gpuaas_server.access import member_endpoints as members
from gpuaas_server.admission.gate import IdentityGate
from gpuaas_server.allocations import endpoints as allocations
from gpuaas_server.allocations import report_endpoints as host_reports
from gpuaas_server.app_usage import endpoints as app_usage
from gpuaas_server.artifacts import endpoints as artifacts
from gpuaas_server.artifacts.intent_endpoints import takes_bytes
from gpuaas_server.audit import endpoints as audit
from gpuaas_server.capacity import endpoints as capacity
from gpuaas_server.catalog import endpoints as catalog
from gpuaas_server.console.route import ConsoleRoute, console_folder
from gpuaas_server.controllers import endpoints as controllers
from gpuaas_server.deletions import endpoints as deletions
from gpuaas_server.events import endpoints as events
from gpuaas_server.identity import endpoints as identity
from gpuaas_server.identity.policy_document import assert_policy_covers
from gpuaas_server.instances import endpoints as instances
from gpuaas_server.instances import operation_endpoints, probe_endpoints, secret_endpoints
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database_health import NO_ANSWER
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.call import reply
from gpuaas_server.kernel.http.edge import Edge, is_local
from gpuaas_server.kernel.http.problems import declared, install_problem_handlers
from gpuaas_server.kernel.http.routers import add_routes, root_router
from gpuaas_server.kernel.http.streams import StreamLimits
from gpuaas_server.kernel.metrics import registry
from gpuaas_server.logs import endpoints as logs
from gpuaas_server.logs.delivery import LogDelivery
from gpuaas_server.logs.readers import LogReaders
from gpuaas_server.nodes import agent_endpoints
from gpuaas_server.nodes import endpoints as nodes
from gpuaas_server.nodes import maintenance_endpoints as maintenance
from gpuaas_server.nodes.gate import AgentGate
from gpuaas_server.openapi import describe
from gpuaas_server.operations import endpoints as operations
from gpuaas_server.projects import endpoints as projects
from gpuaas_server.receipts import endpoints as receipts
from gpuaas_server.secrets import endpoints as secrets
from gpuaas_server.terminals import endpoints as terminals
from gpuaas_server.terminals.relay_server import RelayServer
from gpuaas_server.wiring import connect_hooks

DESCRIPTION = """GPU allocations, and apps launched into them. Errors are RFC 9457 problem documents with a stable `code`;
every POST takes an `Idempotency-Key`; every answer carries `X-Correlation-ID`."""

# The router tries routes one after the other, so the nouns that are called most come first.
NOUNS = (
    allocations,
    host_reports,
    agent_endpoints,
    probe_endpoints,
    operation_endpoints,
    operations,
    controllers,
    instances,
    secret_endpoints,
    events,
    access,
    terminals,
    logs,
    projects,
    members,
    identity,
    nodes,
    maintenance,
    capacity,
    catalog,
    artifacts,
    receipts,
    app_usage,
    audit,
    secrets,
    deletions,
)


class Health(BaseModel):
    status: str
    version: str
    warnings: list[str] = Field(default=[], description="Problems that do not stop the service yet but need attention.")


status_router = root_router(tags=["status"])


@status_router.get("/healthz", response_model=Health)
async def health() -> Response:
    """Tell that the process runs."""
    return reply(Health(status="ok", version=__version__))


@status_router.get("/readyz", response_model=Health, responses=declared("unavailable"))
async def ready(request: Request) -> Response:
    """Tell whether the process can serve: its database answers and the last recurring write succeeded. Otherwise `detail`
    says why not.
    """
    platform: Platform = request.app.state.platform
    health = platform.database.health
    if health.cause or not await platform.database.answers():
        raise Problem("unavailable", health.cause or NO_ANSWER, headers={"Retry-After": "1"})
    return reply(Health(status="ready", version=__version__, warnings=sorted(platform.warnings.values())))


@status_router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}, **declared("unauthenticated", "forbidden", "unavailable")},
)
async def metrics(request: Request) -> Response:
    """Show the metrics for Prometheus. A scraper on the same machine needs no token; others need a platform role."""
    if not is_local(request):
        await request.app.state.gate.admit(request, "metrics")
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


def build_app(platform: Platform) -> FastAPI:
    connect_hooks()
    app = FastAPI(
        title="gpuaas",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        generate_unique_id_function=lambda route: route.name,
        separate_input_output_schemas=False,
        # Ours are in kernel/metrics.py. The framework's would look for its exporters in every request.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.platform = platform
    app.state.agent_gate = AgentGate(platform)
    app.state.terminals = RelayServer(platform)
    app.state.log_readers = LogReaders(platform.settings.log_readers_per_host)
    app.state.log_delivery = LogDelivery(platform, app.state.log_readers, app.state.terminals)
    app.state.gate = gate = IdentityGate(platform, app.state.agent_gate)
    app.state.streams = StreamLimits(platform.settings, gate.stream_quota)
    install_problem_handlers(app)
    add_routes(app.router, *(noun.router for noun in NOUNS), identity.well_known, status_router)
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    _offline_reference(app)
    # The last: it takes what is nobody else's.
    app.router.routes.append(ConsoleRoute(console_folder(platform.settings)))
    app.add_middleware(
        Edge,
        max_body_bytes=platform.settings.max_body_bytes,
        streams=takes_bytes,
        direct=agent_endpoints.DIRECT_ROUTES,
    )
    assert_policy_covers(app)
    return app


def _offline_reference(app: FastAPI) -> None:
    """Serve the API reference page with assets from a wheel, so that it works without internet."""
    spec = find_spec("fastapi_offline")
    if spec is None or spec.origin is None:
        return
    app.mount("/docs/assets", StaticFiles(directory=Path(spec.origin).parent / "static"), name="docs-assets")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return get_swagger_ui_html(
            openapi_url="/api/v1/openapi.json",
            title="gpuaas API",
            swagger_js_url="/docs/assets/swagger-ui-bundle.js",
            swagger_css_url="/docs/assets/swagger-ui.css",
            swagger_favicon_url="/docs/assets/favicon.png",
        )
