"""On the import path of the processes of a dataflow."""
