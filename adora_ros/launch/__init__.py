"""Actions, events and event handlers for launch files; the extension that makes ``<dataflow>`` known to launch.

launch imports this package for everybody who runs an XML or YAML launch file, so it imports launch and nothing else.
"""

import contextlib

# Where this launch cannot take the action, its other users are not to be bothered with it.
with contextlib.suppress(ImportError):
    from adora_ros.launch import actions as actions
