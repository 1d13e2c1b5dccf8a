"""Runs a dataflow: ``ros2 launch adora_ros dataflow.launch.py dataflow:=my_robot.yml``."""

from __future__ import annotations

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, EmitEvent, OpaqueFunction, RegisterEventHandler
from launch.events import matches_action
from launch.events.process import ShutdownProcess
from launch.substitutions import LaunchConfiguration
from launch.utilities.type_utils import normalize_typed_substitution, perform_typed_substitution

from adora_ros.launch.actions import Dataflow
from adora_ros.launch.coordinator import Coordinator
from adora_ros.launch.event_handlers import OnDataflowFinished

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
COORDINATOR = {
    'coordinator': (
        'false',
        'Whether to run a coordinator beside the dataflow, until it ends. One that runs already is used in any case.',
    ),
    'store': (
        '',
        'Where it keeps its records: `memory` (the default), `sqlite` (~/.adora/coordinator.db) or `sqlite:PATH`.',
    ),
}


def coordinator(context: LaunchContext, dataflow: Dataflow) -> list[LaunchDescriptionEntity]:
    """Return the coordinator, if there is to be one.

    Raises:
        RuntimeError: there is to be none, but a store for it is given.

    """
    store = LaunchConfiguration('store').perform(context)
    if not perform_typed_substitution(
        context, normalize_typed_substitution(LaunchConfiguration('coordinator'), bool), bool
    ):
        if store:
            msg = f'store:={store} is that of the coordinator; add coordinator:=true'
            raise RuntimeError(msg)
        return []
    action = Coordinator(store=store, log_level=LaunchConfiguration('log_level'))
    end = EmitEvent(event=ShutdownProcess(process_matcher=matches_action(action)))
    return [action, RegisterEventHandler(OnDataflowFinished(target_action=dataflow, on_finished=[end]))]


def generate_launch_description() -> LaunchDescription:
    """Return the description."""
    dataflow = Dataflow(file=LaunchConfiguration('dataflow'), **{name: LaunchConfiguration(name) for name in ARGUMENTS})
    return LaunchDescription(
        [
            DeclareLaunchArgument('dataflow', description='The dataflow, a YAML file.'),
            *(
                DeclareLaunchArgument(name, default_value=default, description=text)
                for name, (default, text) in {**ARGUMENTS, **COORDINATOR}.items()
            ),
            OpaqueFunction(function=coordinator, args=[dataflow]),
            dataflow,
        ]
    )
