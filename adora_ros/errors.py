"""The one family of errors that this package raises.

Each is also the standard-library type that a caller would expect, so that ``except ValueError`` and
``except AdoraError`` both work. A message says what is wrong, where, and what to do about it.
"""

from __future__ import annotations


class AdoraError(Exception):
    """Base of every error that adora_ros raises on purpose."""


class DataflowError(AdoraError, ValueError):
    """A dataflow file that cannot be run."""


class TransportError(AdoraError, ValueError):
    """A value, message or configuration that cannot be carried between processes."""


class NodeError(AdoraError, RuntimeError):
    """The Node API was used in a way, or in a place, that cannot work."""


class AnswerError(AdoraError, RuntimeError):
    """The answer to a request or goal cannot come any more."""


class AnswerTimeoutError(AnswerError, TimeoutError):
    """The answer to a request or goal did not come in time."""


class ServerRestartedError(AnswerError):
    """The node that was asked has been restarted and does not know of the request or goal."""


class ServerEndedError(AnswerError):
    """The node that was asked has ended for good."""


class UnsupportedError(AdoraError, ImportError):
    """A part of dora's API that there is no counterpart of."""


class SpawnError(AdoraError, OSError):
    """A process could not be started."""


class LifecycleError(AdoraError, RuntimeError):
    """A lifecycle transition failed; the text is the node's own where there is one."""


class TransitionFailedError(LifecycleError):
    """A node answered that a transition failed, which in ROS comes without a reason."""


class LifecycleTimeoutError(LifecycleError, TimeoutError):
    """A lifecycle transition did not end before its deadline."""


class ManagerError(AdoraError, RuntimeError):
    """The manager cannot do what it was asked to do."""


class RecordError(AdoraError, ValueError):
    """A record of the coordinator that cannot be, or a step that its state does not allow."""


class StoreError(AdoraError, OSError):
    """The coordinator's store cannot be read or written."""


class StoreVersionError(StoreError):
    """A database was written by another version, or by another program; it has been left untouched."""


class StaleGenerationError(AdoraError, RuntimeError):
    """A record was changed by somebody else since it was read."""


class CoordinatorError(AdoraError, RuntimeError):
    """The coordinator cannot do what it was asked to do."""


class CommandError(AdoraError, RuntimeError):
    """What a command was asked to do could not be done; nothing is wrong with the command line."""


class BuildError(CommandError):
    """What a node runs could not be cloned, downloaded or built."""


class NotRunningError(CommandError, LookupError):
    """There is no such dataflow, node or record."""


class NoAnswerError(CommandError, TimeoutError):
    """Somebody who should answer did not do so in time."""


class AmbiguousNameError(AdoraError, ValueError):
    """A name stands for more than one thing."""
