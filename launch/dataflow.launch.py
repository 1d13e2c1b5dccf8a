"""Runs a dataflow: ``ros2 launch adora_ros dataflow.launch.py dataflow:=my_robot.yml``."""

from __future__ import annotations

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from adora_ros.launch.actions import Dataflow

ARGUMENTS = {
    'name': ('', "Name of the dataflow and its namespace; by default the file's stem."),
    'machine': ('', 'Name of this machine in `deploy.machine` of the dataflow.'),
    'namespace': ('', "ROS namespace above the dataflow's own, such as one for each robot."),
    'use_sim_time': ('false', 'Whether the nodes take their ROS time from /clock.'),
    'log_level': ('info', 'Log level of the manager: debug, info, warn, error or fatal.'),
    'autostart': ('true', 'Whether to start at once; else wait to be driven by the lifecycle services of the manager.'),
    'sigterm_timeout': (
        '',
        'Seconds from the shutdown to SIGTERM for the manager; by default longer than the dataflow takes to stop.',
    ),
    'sigkill_timeout': ('', 'Seconds from SIGTERM to SIGKILL for the manager; by default 10.'),
}
"""Default and description of what the action takes besides the file."""
LATER = {
    'coordinator': ('false', 'Whether to report to a coordinator. Not supported yet.'),
    'store': ('', 'Store of the coordinator. Not supported yet.'),
}


def refuse(context: LaunchContext) -> None:
    """Refuse arguments that would have no effect.

    Raises:
        RuntimeError: one is given.

    """
    for name, (default, _) in LATER.items():
        value = LaunchConfiguration(name).perform(context)
        if value.lower() != default:
            msg = f'{name}:={value} is not supported yet; leave {name} out'
            raise RuntimeError(msg)


def generate_launch_description() -> LaunchDescription:
    """Return the description."""
    return LaunchDescription(
        [
            DeclareLaunchArgument('dataflow', description='The dataflow, a YAML file.'),
            *(
                DeclareLaunchArgument(name, default_value=default, description=text)
                for name, (default, text) in {**ARGUMENTS, **LATER}.items()
            ),
            OpaqueFunction(function=refuse),
            Dataflow(file=LaunchConfiguration('dataflow'), **{name: LaunchConfiguration(name) for name in ARGUMENTS}),
        ]
    )
