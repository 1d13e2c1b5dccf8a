"""The manager: runs one dataflow and supervises its processes."""
