"""The ``adora`` command.

Importing it needs no ROS 2: only running a dataflow imports rclpy.
"""
