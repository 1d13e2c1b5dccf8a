"""The program of a ``ros2`` node, which passes values between its ports and topics, a service or an action of ROS 2."""
