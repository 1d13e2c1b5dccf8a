"""What is measured."""

from __future__ import annotations

from dataclasses import dataclass

MILLISECONDS = 'ms'
SECONDS = 's'
PERCENT = '% of one core'
MEBIBYTES = 'MiB'


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A figure; less is better.

    Attributes:
        id: Its key in the JSON file.
        title: What it is.
        unit: Unit of its samples.
        goal: What adora_ros is to reach as a median, in that unit.

    """

    id: str
    title: str
    unit: str
    goal: float | None = None


METRICS = (
    Metric(id='exit_to_detected', title='exit to detected', unit=MILLISECONDS, goal=5),
    Metric(id='exit_to_gone', title='exit until the kernel has ended the process', unit=MILLISECONDS),
    Metric(id='exit_to_new_process', title='exit to new process', unit=MILLISECONDS),
    Metric(id='exit_to_first_message', title='exit to first new message at the consumer', unit=MILLISECONDS, goal=200),
    Metric(
        id='silence_to_closed',
        title='silence to InputClosed, beyond `input_timeout`; `health_check_interval: 0.1`',
        unit=MILLISECONDS,
        goal=10,
    ),
    Metric(
        id='silence_to_closed_default',
        title='the same with the default `health_check_interval`, 5 s',
        unit=MILLISECONDS,
        goal=10,
    ),
    Metric(id='back_to_recovered', title='data back to InputRecovered', unit=MILLISECONDS, goal=2),
    Metric(
        id='hang_to_kill',
        title='hang to kill, beyond `health_check_timeout`; `health_check_interval: 0.1`',
        unit=MILLISECONDS,
        goal=100,
    ),
    Metric(
        id='hang_to_kill_default',
        title='the same with the default `health_check_interval`, 5 s',
        unit=MILLISECONDS,
        goal=100,
    ),
    Metric(id='stop_10', title='stop of 10 nodes', unit=MILLISECONDS, goal=1000),
    Metric(id='start_2', title='start of 2 nodes to the first message through the chain', unit=SECONDS),
    Metric(id='start_10', title='start of 10 nodes to the first message through the chain', unit=SECONDS),
    Metric(id='start_20', title='start of 20 nodes to the first message through the chain', unit=SECONDS, goal=2.3),
    Metric(id='start_50', title='start of 50 nodes to the first message through the chain', unit=SECONDS),
    Metric(id='idle_cpu_20', title='CPU of the supervisor, 20 nodes at 10 Hz', unit=PERCENT),
    Metric(id='idle_cpu_50', title='CPU of the supervisor, 50 nodes at 10 Hz', unit=PERCENT, goal=5),
    Metric(id='idle_pss_20', title='memory (PSS) of the supervisor, 20 nodes', unit=MEBIBYTES),
    Metric(id='idle_pss_50', title='memory (PSS) of the supervisor, 50 nodes', unit=MEBIBYTES),
    Metric(id='idle_rss_20', title='memory (RSS) of the supervisor, 20 nodes', unit=MEBIBYTES),
    Metric(id='idle_rss_50', title='memory (RSS) of the supervisor, 50 nodes', unit=MEBIBYTES),
    Metric(id='all_cpu_20', title='CPU of the supervisor and its 20 nodes', unit=PERCENT),
    Metric(id='all_cpu_50', title='CPU of the supervisor and its 50 nodes', unit=PERCENT),
    Metric(id='all_pss_20', title='memory (PSS) of the supervisor and its 20 nodes', unit=MEBIBYTES),
    Metric(id='node_pss_20', title='memory (PSS) of one of 20 nodes', unit=MEBIBYTES, goal=25),
    Metric(id='node_pss_50', title='memory (PSS) of one of 50 nodes', unit=MEBIBYTES, goal=25),
    Metric(id='all_pss_50', title='memory (PSS) of the supervisor and its 50 nodes', unit=MEBIBYTES),
)
