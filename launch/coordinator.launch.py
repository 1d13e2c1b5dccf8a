"""Runs a coordinator: ``ros2 launch adora_ros coordinator.launch.py store:=sqlite``."""

from __future__ import annotations

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration

from adora_ros.launch.coordinator import Coordinator

ARGUMENTS = {
    'store': (
        'memory',
        'Where the records are kept: `memory`, `sqlite` (~/.adora/coordinator.db) or `sqlite:PATH`.',
    ),
    'recovery': (
        'adopt',
        'For dataflows that were under way when the last one ended: `adopt` waits for reports, `fail` does not.',
    ),
    'machine_timeout': ('30.0', 'Seconds of silence after which a machine is gone.'),
    'recovery_timeout': ('30.0', 'Seconds that managers have to report to a coordinator that was restarted.'),
    'log_level': ('info', 'Log level of the coordinator: debug, info, warn, error or fatal.'),
}
"""Default and description of each argument."""


def generate_launch_description() -> LaunchDescription:
    """Return the description."""
    return LaunchDescription(
        [
            *(
                DeclareLaunchArgument(name, default_value=default, description=text)
                for name, (default, text) in ARGUMENTS.items()
            ),
            Coordinator(**{name: LaunchConfiguration(name) for name in ARGUMENTS}),
        ]
    )
