"""The dataflows of ``flows/`` and how to compare their runs."""

from __future__ import annotations

from conformance.harness import Digest, Scenario

ENDING = ('closed-last',)
SILENCE = ('recovered-first', 'closed-last')
RESTART = ('recovered-first', 'restarted-late', 'closed-last')

SCENARIOS = (
    Scenario(name='finite_source', rules=ENDING, exact=True),
    Scenario(name='two_sources', rules=ENDING, exact=True),
    Scenario(name='crash_restart', rules=RESTART),
    Scenario(name='crash_with_input_timeout', rules=RESTART),
    Scenario(name='give_up', rules=RESTART),
    Scenario(name='killed_source', rules=ENDING),
    Scenario(
        name='failed_source',
        rules=ENDING,
        here=Digest(
            exit_code=1,
            lines={
                'consumer': [
                    'START 0',
                    'INPUT data of incarnation 0',
                    "NODE_FAILED source ['data'] 1",
                    'INPUT_CLOSED data',
                    'STOP ALL_INPUTS_CLOSED',
                    'END',
                ]
            },
        ),
        row='failure-told',
    ),
    Scenario(
        name='source_without_inputs',
        rules=ENDING,
        here=Digest(
            exit_code=0,
            lines={
                'consumer': [
                    'START 0',
                    'INPUT data of incarnation 0',
                    'NODE_RESTARTED source',
                    'INPUT data of incarnation 1',
                    'INPUT_CLOSED data',
                    'STOP ALL_INPUTS_CLOSED',
                    'END',
                ]
            },
        ),
        failed={},
        row='sources-restart',
    ),
    Scenario(name='input_timeout', rules=SILENCE),
    Scenario(name='late_first_message', rules=SILENCE),
    Scenario(name='silent_end', rules=SILENCE),
    Scenario(name='always_inputs_closed', rules=ENDING),
    Scenario(name='always_inputs_closed_failure', rules=ENDING),
    Scenario(name='queued_end', rules=ENDING, exact=True),
    Scenario(name='timer_input', rules=ENDING, stop_after=6.0),
    Scenario(name='exit_when_nodes_finish', rules=ENDING),
    Scenario(name='next_timeout', rules=ENDING),
    # Cascades and other shapes.
    Scenario(name='cascade_clean', rules=ENDING, exact=True),
    Scenario(name='cascade_failure', rules=ENDING, exact=True),
    Scenario(name='diamond', rules=ENDING, exact=True, by_input=True),
    Scenario(name='fan_out', rules=ENDING, exact=True, by_input=True),
    Scenario(name='unused_output', rules=ENDING, exact=True),
    Scenario(name='cycle', rules=ENDING, exact=True, stop_after=2.5),
    Scenario(name='two_failures', rules=ENDING, exact=True, by_input=True),
    # Restarts.
    Scenario(name='on_failure_clean_exit', rules=ENDING, exact=True),
    Scenario(name='never_failure', rules=ENDING, exact=True),
    Scenario(name='always_limited', rules=RESTART),
    Scenario(name='failure_then_clean', rules=RESTART),
    Scenario(name='two_consumers_restart', rules=RESTART, by_input=True),
    Scenario(name='relay_restart', rules=RESTART),
    Scenario(name='consumer_restart', rules=RESTART),
    # Queues and timers.
    Scenario(name='queue_size', rules=ENDING, exact=True),
    Scenario(name='queue_one', rules=ENDING, exact=True),
    Scenario(name='queue_backpressure', rules=ENDING, exact=True),
    Scenario(name='turns', rules=(*ENDING, 'turns-in-order'), exact=True),
    Scenario(name='timer_kinds', stop_after=2.5),
    # Stopping.
    Scenario(name='manual_stop', stop_after=2.5),
    Scenario(
        name='exit_code_after_stop',
        stop_after=1.5,
        here=Digest(exit_code=0, lines={'consumer': ['START 0', 'STOP MANUAL', 'END']}),
        failed={},
        row='exit-after-stop',
    ),
    # What is sent, and what a node finds out.
    Scenario(name='arrow_types', rules=ENDING, exact=True),
    Scenario(name='metadata_kinds', rules=ENDING, exact=True),
    Scenario(name='metadata_passed_on', rules=ENDING, exact=True),
    Scenario(name='stream_flush', rules=ENDING, exact=True),
    Scenario(name='service'),
    Scenario(name='action'),
    Scenario(name='surroundings', rules=ENDING, exact=True),
    # Programs, operators, modules, logs.
    Scenario(name='on_path', rules=ENDING, exact=True),
    Scenario(
        name='absent_program',
        rules=ENDING,
        here=Digest(
            exit_code=0,
            lines={
                'consumer': [
                    'START 0',
                    'INPUT data of incarnation 0',
                    'INPUT_CLOSED data',
                    'STOP ALL_INPUTS_CLOSED',
                    'END',
                ]
            },
        ),
        failed={},
        row='early-exit',
    ),
    Scenario(name='operator', rules=ENDING, exact=True),
    Scenario(
        name='operators',
        by_input=True,
        here=Digest(
            exit_code=0,
            lines={
                'consumer': ['START 0', 'STOP ALL_INPUTS_CLOSED', 'END'],
                'consumer first': ['INPUT first of incarnation 0', 'INPUT_CLOSED first'],
                'consumer second': ['INPUT second of incarnation 0', 'INPUT_CLOSED second'],
            },
        ),
        failed={},
        row='operators',
    ),
    Scenario(name='operator_stop', rules=ENDING, exact=True),
    Scenario(
        name='operator_exception',
        exact=True,
        here=Digest(
            exit_code=1,
            lines={
                'consumer': [
                    'START 0',
                    'INPUT data [0]',
                    'INPUT data [2]',
                    'INPUT data [4]',
                    "NODE_FAILED double ['data'] 1",
                    'INPUT_CLOSED data',
                    'STOP ALL_INPUTS_CLOSED',
                    'END',
                ]
            },
        ),
        row='failure-told',
    ),
    Scenario(name='module', rules=ENDING, exact=True),
    Scenario(name='nested_module', rules=ENDING, exact=True),
    Scenario(name='stdout_as_message', rules=ENDING, exact=True),
    Scenario(name='logs_as_messages', rules=ENDING, exact=True),
)
