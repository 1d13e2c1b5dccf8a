"""How much a coordinator can keep: records listed, managers that report, durable steps, and memory over time."""
