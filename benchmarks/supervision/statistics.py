"""What a list of samples comes down to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A list of samples in a few numbers, in the unit of the samples.

    Attributes:
        count: How many samples there are.
        median: Half of them are below.
        p10: One in ten is below.
        p90: Nine in ten are below.
        p99: 99 in 100 are below; the maximum of less than 100 samples or nearly so.
        low: The smallest.
        high: The largest.

    """

    count: int
    median: float
    p10: float
    p90: float
    p99: float
    low: float
    high: float


def percentile(samples: Sequence[float], percent: float) -> float:
    """Return the value that ``percent`` of the samples are below, interpolated linearly between two samples.

    Raises:
        ValueError: there are no samples.

    """
    if not samples:
        msg = 'no samples to take a percentile of'
        raise ValueError(msg)
    ordered = sorted(samples)
    place = percent / 100 * (len(ordered) - 1)
    below, above = math.floor(place), math.ceil(place)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def summarise(samples: Sequence[float]) -> Summary:
    """Return the summary of at least one sample.

    Raises:
        ValueError: there are no samples.

    """
    return Summary(
        count=len(samples),
        median=percentile(samples, 50),
        p10=percentile(samples, 10),
        p90=percentile(samples, 90),
        p99=percentile(samples, 99),
        low=percentile(samples, 0),
        high=percentile(samples, 100),
    )


def ratio(value: float, reference: float) -> float | None:
    """Return how many times ``reference`` the value is, or None where that says nothing: one is not above zero."""
    return value / reference if value > 0 and reference > 0 else None
