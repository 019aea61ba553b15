"""Command line of the node agent: `run`, and `discover` to print the host's hardware."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path

from gpuaas_agent import __version__, agent, config, identity, log, wire
from gpuaas_agent.discovery import discover


def main() -> int:
    parser = argparse.ArgumentParser(prog="gpuaas-agent", description="gpuaas node agent")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--config", type=Path, default=config.DEFAULT_PATH)
    parser.add_argument("command", choices=("run", "discover"), help="run the agent, or print the discovered hardware")
    arguments = parser.parse_args()
    try:
        settings = config.load(arguments.config)
    except config.ConfigInvalid as problem:
        log.error("config_invalid", message=str(problem))
        return 2
    if settings.unknown_keys:
        log.warning("config_unknown_keys", keys=list(settings.unknown_keys))
    if arguments.command == "discover":
        json.dump(discover(settings.hw_root), sys.stdout, indent=2)
        return 0
    return _run(settings)


def _run(settings: config.Config) -> int:
    # A stopped agent does not wait for its tasks: every task is safe to run again.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    try:
        known = agent.enrol_if_needed(settings)
    except (identity.EnrolmentFailed, wire.Refused, OSError) as problem:
        log.error("enrolment_failed", message=str(problem))
        return 1
    agent.Agent(settings, known).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
