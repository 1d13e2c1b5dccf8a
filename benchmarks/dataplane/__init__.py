"""How fast values get from one node to others, beside plain rclpy and dora-rs."""
