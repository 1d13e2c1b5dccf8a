"""Starts the nodes of a dataflow file as plain processes; the file's name is in ``BENCH_FLOW``."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

from launch import LaunchDescription
from launch.actions import ExecuteProcess


def generate_launch_description() -> LaunchDescription:
    """Return one process for each node, respawned at once where the dataflow restarts it."""
    flow = json.loads(Path(os.environ['BENCH_FLOW']).read_text(encoding='utf-8'))
    return LaunchDescription(
        [
            ExecuteProcess(
                name=node['id'],
                cmd=[sys.executable, '-u', node['path'], *shlex.split(node['args'])],
                additional_env={
                    'BENCH_ROS_NODE': json.dumps(
                        {'id': node['id'], 'inputs': node.get('inputs', {}), 'outputs': node.get('outputs', [])}
                    )
                },
                output='screen',
                respawn=node.get('restart_policy') == 'always',
                respawn_delay=node.get('restart_delay', 0.0),
            )
            for node in flow['nodes']
        ]
    )
