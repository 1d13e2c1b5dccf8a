"""Measurements of this package beside others; run from a checkout, not installed."""
