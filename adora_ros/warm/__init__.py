"""What runs in a warm process: one that has Python, ROS and Arrow loaded, and that nodes are forked from.

The manager's side is :mod:`adora_ros.manager.warm`; :mod:`adora_ros.warm.request` is what the two say to each other.
"""
