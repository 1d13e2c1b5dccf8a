"""Writes the golden files anew from dora: ``PYTHONPATH=test python -m conformance.regenerate [SCENARIO...]``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from conformance.harness import DORA_VARIABLE, RELEASE, dora_version, find_dora, run_dora, write_golden
from conformance.scenarios import SCENARIOS


def main(names: list[str]) -> int:
    """Run the scenarios called ``names``, or all, and write what dora gave."""
    dora = find_dora()
    version = None if dora is None else dora_version(dora)
    if dora is None or version is None or not version.startswith(RELEASE):
        sys.stderr.write(
            f'error: dora {RELEASE}x is needed, found {version}: '
            f'install dora-rs and dora-rs-cli into an environment and set {DORA_VARIABLE} to it\n'
        )
        return 2
    for scenario in SCENARIOS:
        if names and scenario.name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            outcome = run_dora(dora, scenario, Path(folder))
        write_golden(scenario, version, outcome)
        sys.stdout.write(f'{scenario.name}: exit code {outcome.exit_code}\n')
        sys.stdout.flush()
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
