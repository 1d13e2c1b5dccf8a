"""Writes docs/node-api.md from the docstrings of the Node API: ``python scripts/node_api.py > docs/node-api.md``."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from adora_ros import errors
from adora_ros.inputs import (
    Error,
    External,
    Input,
    InputClosed,
    InputRecovered,
    NodeFailed,
    NodeRestarted,
    Stop,
    as_dict,
)
from adora_ros.node import Node

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 120

HEAD = """
# What can a node do?

Every method and event of `adora_ros.Node`, which is `dora.Node` and `adora.Node` in the scripts of a dataflow. Names,
arguments and event dicts are those of dora 1.1; what dora's Python API does not have is marked with *.

```python
from adora_ros import Node  # or: from dora import Node

node = Node()
for event in node:
    if event['type'] == 'INPUT':
        node.send_output('out', event['value'], event['metadata'])
    elif event['type'] == 'STOP':
        break
```

This page is made from the docstrings of the code. How to test a node: [testing-nodes.md](testing-nodes.md).
"""

GROUPS = {
    'Taking events': (
        '__iter__',
        'next',
        'try_recv',
        'recv_async',
        'drain',
        'is_empty',
        'events',
        'next_event',
        'merge_external_events',
    ),
    'Sending': ('send_output', 'send_output_raw'),
    'Services and actions': (
        'send_service_request',
        'send_service_response',
        'recv_service_response',
        'recv_action_result',
    ),
    'Logging': ('log', 'log_error', 'log_warn', 'log_info', 'log_debug', 'log_trace'),
    'Values by name': (
        'extension_store',
        'extension_load',
        'extension_drop',
        'drain_dropped_extension_keys',
    ),
    'About the node': (
        'node_config',
        'dataflow_descriptor',
        'dataflow_id',
        'is_restart',
        'restart_count',
        'timestamp',
        'stop_dataflow',
        'ros_node',
        'close',
    ),
}

OURS = frozenset(
    {
        *('events', 'next_event', 'recv_service_response', 'recv_action_result'),
        *('stop_dataflow', 'ros_node', 'close'),
    }
)
"""What dora's Python API does not have."""

EXAMPLES = (
    Input('image', 'array', {'timestamp': '...'}),
    InputClosed('image'),
    InputRecovered('image'),
    NodeRestarted('camera'),
    NodeFailed('camera', 'exit code 3', ('image',)),
    Stop(),
    Error('...'),
    External('array', 'message'),
)

PATTERNS = """
## Metadata that means something

| key | meaning |
|---|---|
| `timestamp` | when the message was sent, an aware datetime in UTC; part of every input |
| `request_id` | which request a response belongs to |
| `goal_id` | which goal feedback and a result belong to |
| `goal_status` | of a result: `succeeded`, `aborted` or `canceled` |
| `session_id`, `segment_id`, `seq`, `fin` | the place of a chunk in a stream, by convention |
| `flush` | `True` drops what waits on the same input of the receiver before this message |
"""


def plain(text: str) -> str:
    """Return the text of a docstring as Markdown."""
    text = re.sub(r':meth:`~?([^`]+)`', r'`\1()`', text)
    text = re.sub(r':(?:class|mod|func|data):`~?([^`]+)`', r'`\1`', text)
    return text.replace('``', '`')


def wrapped(text: str) -> str:
    """Return a paragraph or an item of a list in lines that fit."""
    return textwrap.fill(
        ' '.join(text.split()),
        WIDTH,
        subsequent_indent='  ' if text.startswith('- ') else '',
        break_long_words=False,
        break_on_hyphens=False,
    )


def documented(function: Any) -> Iterator[str]:
    """Yield the parts of a docstring in Google's style as Markdown."""
    for paragraph in inspect.cleandoc(function.__doc__ or '').split('\n\n'):
        title, _, body = paragraph.partition('\n')
        if title in {'Args:', 'Returns:', 'Raises:', 'Yields:'}:
            yield f'*{title[:-1]}*\n\n' + '\n'.join(items(textwrap.dedent(body), listed=title in {'Args:', 'Raises:'}))
        elif paragraph.startswith('    '):
            yield '```python\n' + textwrap.dedent(paragraph) + '\n```'
        else:
            yield wrapped(plain(paragraph.replace('::', ':') if paragraph.endswith('::') else paragraph))


def items(text: str, *, listed: bool) -> Iterator[str]:
    """Yield the entries of a section."""
    entries = re.sub(r'\n +', ' ', text).splitlines()
    for entry in entries:
        name, _, what = entry.partition(': ')
        yield wrapped(f'- `{name}`: {plain(what)}' if listed else plain(entry))


def signature(name: str, function: Any) -> str:
    """Return how a method is called."""
    text = str(inspect.signature(function))
    return name + re.sub(r'\(self(, )?', '(', text).replace('collections.abc.', '').replace("'", '')


def method(name: str) -> Iterator[str]:
    """Yield the section of a method."""
    function = inspect.getattr_static(Node, name)
    star = ' *' if name in OURS else ''
    if isinstance(function, property):
        yield f'### `{name}`{star}'
        yield from documented(function.fget)
        return
    if name == '__iter__':
        yield '### `for event in node`'
        yield 'Yields what `next()` returns until that is None.'
        return
    call = signature(name, function)
    prefix = 'await ' if inspect.iscoroutinefunction(function) else ''
    yield f'### `{prefix}{call}`{star}'
    yield from documented(function)


def events() -> Iterator[str]:
    """Yield the table of events."""
    yield '## Events'
    yield wrapped(
        'An event is a dict. `events()` and `next_event()` give the typed form, a frozen dataclass of `adora_ros`, '
        'which `match` statements take apart.'
    )
    rows = ['| typed | dict | |', '|---|---|---|']
    for event in EXAMPLES:
        kind = type(event)
        names = ', '.join(inspect.signature(kind).parameters)
        keys = ', '.join(f'{key}: {value!r}' for key, value in as_dict(event).items())
        about = plain(' '.join((kind.__doc__ or '').split('\n\n')[0].split()))
        rows.append(f'| `{kind.__name__}({names})` | `{keys}` | {about} |')
    yield '\n'.join(rows)


def failures() -> Iterator[str]:
    """Yield the table of the errors that a node may meet."""
    yield '## Errors'
    yield 'All are in `adora_ros.errors`, and each is a type of the standard library as well.'
    rows = ['| error | is also | |', '|---|---|---|']
    for name in (
        'NodeError',
        'TransportError',
        'AnswerTimeoutError',
        'ServerRestartedError',
        'ServerEndedError',
        'UnsupportedError',
    ):
        kind = getattr(errors, name)
        known = [base for base in kind.__mro__ if base.__module__ == 'builtins']
        bases = [base.__name__ for base in known if not any(base in other.__mro__[1:] for other in known)]
        rows.append(
            f'| `{name}` | {", ".join(f"`{base}`" for base in bases)} | {" ".join((kind.__doc__ or "").split())} |'
        )
    yield '\n'.join(rows)


def page() -> str:
    """Return the page."""
    parts = [HEAD.strip(), *events()]
    for title, names in GROUPS.items():
        parts.append(f'## {title}')
        for name in names:
            parts.extend(method(name))
    parts += [PATTERNS.strip(), *failures()]
    return '\n\n'.join(parts) + '\n'


if __name__ == '__main__':
    sys.stdout.write(page())
