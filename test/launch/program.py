"""Runs a launch file as ``ros2 launch`` does: ``program.py FILE [NAME:=VALUE...]``."""

from __future__ import annotations

import sys

from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import AnyLaunchDescriptionSource

service = LaunchService(argv=sys.argv[2:])
source = AnyLaunchDescriptionSource(sys.argv[1])
arguments = [tuple(argument.split(':=', 1)) for argument in sys.argv[2:]]
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(source, launch_arguments=arguments)]))
sys.exit(service.run())
