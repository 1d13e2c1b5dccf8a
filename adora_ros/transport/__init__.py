"""How a value travels from a node to another: Arrow and ROS messages, and the contract between manager and node.

The modules are imported one by one, since the manager needs :mod:`~adora_ros.transport.contract` only and neither
pyarrow nor the message packages.
"""
