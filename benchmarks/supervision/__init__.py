"""How fast a supervisor learns of trouble and mends it: adora_ros, dora-rs and ``ros2 launch``, side by side."""
