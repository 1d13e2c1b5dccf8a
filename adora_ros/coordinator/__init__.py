"""The coordinator: records of dataflows, builds and machines that outlive it, and the machines it hears of."""
