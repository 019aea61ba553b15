"""The retention in force: every setting that says for how many days something is kept."""

from gpuaas_server.audit.schemas import Retention, RetentionPeriod
from gpuaas_server.kernel.settings import Settings

_SUFFIX = "_retention_days"


def retention_show(settings: Settings) -> Retention:
    return Retention(items=[_period(settings, name) for name in Settings.model_fields if name.endswith(_SUFFIX)])


def _period(settings: Settings, name: str) -> RetentionPeriod:
    return RetentionPeriod(
        name=name.removesuffix(_SUFFIX),
        days=getattr(settings, name),
        description=Settings.model_fields[name].description or "",
        setting=f"GPUAAS_{name.upper()}",
    )
