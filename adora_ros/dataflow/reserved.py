"""Environment variables that a dataflow file cannot set, as in dora."""

from __future__ import annotations

_LOADER = 'it loads code into every program'
_SEARCH = 'set it where adora is started; the nodes inherit it'
_PERMISSION = 'whoever starts adora grants this, not the dataflow'
_CONTRACT = 'the manager sets it'

RESERVED: dict[str, str] = {
    'LD_PRELOAD': _LOADER,
    'LD_AUDIT': _LOADER,
    'DYLD_INSERT_LIBRARIES': _LOADER,
    'LD_LIBRARY_PATH': _SEARCH,
    'DYLD_LIBRARY_PATH': _SEARCH,
    'DORA_AUTH_TOKEN': _PERMISSION,
    'DORA_ALLOW_SHELL_NODES': _PERMISSION,
    'ADORA_ALLOW_SHELL_NODES': _PERMISSION,
    'DORA_NODE_CONFIG': _CONTRACT,
    'DORA_RUNTIME_CONFIG': _CONTRACT,
    'DORA_RUN_PARENT_PID': _CONTRACT,
    'ADORA_NODE_CONFIG': _CONTRACT,
    'ADORA_RUN': _CONTRACT,
    'ADORA_INCARNATION': _CONTRACT,
    'NOTIFY_SOCKET': _CONTRACT,
    'WATCHDOG_USEC': _CONTRACT,
}
"""Each with the reason."""
