"""The page ``docs/yaml-reference.md``: every key of the dataflow YAML, made from the model that validates it.

``python -m adora_ros.dataflow.reference`` prints it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from adora_ros.dataflow import model
from adora_ros.dataflow.examples import EXAMPLES
from adora_ros.dataflow.schema import ModuleFileYaml, RootYaml
from adora_ros.dataflow.yamlmodel import DURATION_LIMIT, U32_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

INTRODUCTION = """\
# Keys of the dataflow YAML

Every key that a dataflow file may have. This page is made from the model that validates the files (`make schema`), and
so is the JSON Schema that `adora schema` prints. Unknown keys, wrong types and values out of range are errors, all of
them reported at once with file, line and column, before anything starts.

`adora/` can be written for `dora/` in sources, `_unstable_deploy` for `deploy`.
"""
SECTIONS = {
    'RootYaml': 'The top level',
    'NodeYaml': 'A node',
    'InputYaml': 'An input in long form',
    'TopicYaml': 'A ROS topic as the `source` of an input',
    'OutputYaml': 'An output in long form',
    'ListedOutputYaml': 'An output in long form, in a list',
    'QosYaml': 'A `qos`',
    'RosYaml': 'The `ros` of a node',
    'BridgeYaml': 'The `ros2` of a node',
    'BridgeTopicYaml': 'One of the `topics` of `ros2`',
    'BridgeQosYaml': 'The `qos` of `ros2`',
    'DdsYaml': 'The `transport` of `ros2`: DDS',
    'ZenohYaml': 'The `transport` of `ros2`: zenoh',
    'OperatorYaml': 'The `operator` of a node',
    'ListedOperatorYaml': 'One of the `operators` of a node',
    'PythonSourceYaml': 'The `python` of an operator in long form',
    'DeployYaml': 'A `deploy`',
    'TypeRuleYaml': 'One of the `type_rules`',
    'DebugYaml': 'The `debug` of the top level',
    'ModuleFileYaml': 'A module file',
    'ModuleHeaderYaml': 'The `module` of a module file',
}
"""By model the heading of its table, in the order of the page."""
EXTENDED = {'ListedOutputYaml': 'OutputYaml', 'ListedOperatorYaml': 'OperatorYaml'}
"""Models that have the keys of another one and some more, which alone are listed."""
DEFAULTS = {
    ('RootYaml', 'health_check_interval'): f'`{model.DEFAULT_HEALTH_CHECK_INTERVAL:g}`',
    ('RootYaml', 'restart_strategy'): f'`{model.RestartStrategy.ONE_FOR_ONE.value}`',
    ('RootYaml', 'stop_grace'): f'`{model.DEFAULT_STOP_GRACE:g}`',
    ('RootYaml', 'warm'): '`auto`',
    ('RootYaml', 'shared_memory_limit'): 'a quarter of what is free',
    ('RootYaml', 'exit_when_nodes_finish'): '`false`',
    ('RootYaml', 'strict_types'): '`false`',
    ('NodeYaml', 'restart_policy'): f'`{model.RestartPolicy.NEVER.value}`',
    ('NodeYaml', 'max_restarts'): '`0`',
    ('NodeYaml', 'restart_delay'): 'see [differences](differences.md)',
    ('NodeYaml', 'stop_grace'): 'that of the top level',
    ('NodeYaml', 'on_give_up'): f'`{model.OnGiveUp.IGNORE.value}`',
    ('NodeYaml', 'min_log_level'): '`stdout`',
    ('NodeYaml', 'max_log_size'): '`50MB`',
    ('NodeYaml', 'max_rotated_files'): f'`{model.DEFAULT_ROTATED_FILES}`',
    ('NodeYaml', 'warm'): 'that of the top level',
    ('NodeYaml', 'deploy'): 'that of the top level',
    ('NodeYaml', 'branch'): 'the default branch',
    ('InputYaml', 'queue_size'): f'`{model.DEFAULT_QUEUE_SIZE}`',
    ('InputYaml', 'queue_policy'): f'`{model.QueuePolicy.DROP_OLDEST.value}`',
    ('InputYaml', 'type'): 'that of the source',
    ('OutputYaml', 'topic'): '`/<dataflow>/<node>/<output>`',
    ('OutputYaml', 'inline'): '`auto`',
    ('QosYaml', 'reliability'): '`reliable`',
    ('QosYaml', 'durability'): '`volatile`',
    ('QosYaml', 'history'): '`keep_last`',
    ('RosYaml', 'namespace'): '`/<dataflow>`',
    ('RosYaml', 'name'): 'made from the `id`',
    ('RosYaml', 'lifecycle'): '`auto`',
    ('OperatorYaml', 'id'): '`op`',
    ('BridgeYaml', 'direction'): '`subscribe`',
    ('BridgeTopicYaml', 'direction'): '`subscribe`',
    ('BridgeQosYaml', 'reliable'): '`false`',
    ('BridgeQosYaml', 'keep_last'): '`1`',
    ('BridgeQosYaml', 'keep_all'): '`false`',
}
"""What counts where a key is not given, as far as anything does."""
UNITS = {
    'queue_size': 'messages',
    'depth': 'messages',
    'keep_last': 'messages',
    'max_restarts': 'restarts',
    'max_rotated_files': 'files',
    'cpu_affinity': 'CPU numbers',
}
_PLAIN = {'string': 'text', 'integer': 'whole number', 'number': 'number', 'boolean': 'true or false'}
_LIMITS = (('minimum', '≥'), ('exclusiveMinimum', '>'), ('maximum', '≤'))
_SCALAR = ['string', 'number', 'boolean']
_SIZE = ['string', 'integer']


def reference() -> str:
    """Return the page."""
    parts = [INTRODUCTION]
    for name, heading in SECTIONS.items():
        parts.append('\n'.join([f'## {heading}', '', *_intro(name), *_table(name), '']))
    return '\n'.join(parts)


def rows() -> Iterator[tuple[str, str, dict[str, Any], bool]]:
    """Yield model, key, JSON Schema and whether it is required, for every key of the YAML."""
    definitions = _definitions()
    for name in SECTIONS:
        schema = definitions[name]
        inherited = definitions[EXTENDED[name]]['properties'] if name in EXTENDED else {}
        for key, details in schema['properties'].items():
            if key not in inherited or key in schema.get('required', ()):
                yield name, key, details, key in schema.get('required', ())


def example(name: str, key: str) -> str:
    """Return a line that shows a key; it is valid in its model."""
    while (name, key) not in EXAMPLES and name in EXTENDED:
        name = EXTENDED[name]
    shared = EXAMPLES.get(('NodeYaml', key), '') if name == 'OperatorYaml' else ''
    return EXAMPLES.get((name, key), shared)


def _definitions() -> dict[str, dict[str, Any]]:
    root = RootYaml.model_json_schema(by_alias=True)
    module = ModuleFileYaml.model_json_schema(by_alias=True)
    return {**root['$defs'], **module['$defs'], 'RootYaml': root, 'ModuleFileYaml': module}


def _intro(name: str) -> list[str]:
    base = EXTENDED.get(name)
    return [f'Keys beside those of [{SECTIONS[base].lower()}](#{_anchor(SECTIONS[base])}).', ''] if base else []


def _table(name: str) -> Iterator[str]:
    yield '| key | type | unit | default | meaning | example |'
    yield '|---|---|---|---|---|---|'
    for own, key, details, required in rows():
        if own == name:
            default = 'required' if required else DEFAULTS.get((name, key), '')
            cells = (
                f'`{key}`',
                _type(details),
                _unit(key, details),
                default,
                _meaning(details),
                f'`{example(name, key)}`',
            )
            yield f'| {" | ".join(cell.replace("|", chr(92) + "|") for cell in cells)} |'


def _meaning(details: dict[str, Any]) -> str:
    return ' '.join(str(details.get('description', '')).split())


def _unit(key: str, details: dict[str, Any]) -> str:
    if key in UNITS:
        return UNITS[key]
    forms = details.get('anyOf', [details])
    if any(form.get('maximum') == DURATION_LIMIT for form in forms):
        return 's'
    return 'bytes, or with KB, MB, GB' if any(form.get('type') == _SIZE for form in forms) else ''


def _type(details: dict[str, Any]) -> str:
    """Return the type of a key in words."""
    forms = details.get('anyOf') or details.get('oneOf')
    if forms is not None:
        return ' or '.join(dict.fromkeys(_type(form) for form in forms if form != {'type': 'null'}))
    if '$ref' in details:
        heading = SECTIONS[details['$ref'].rsplit('/', 1)[-1]]
        return f'[mapping](#{_anchor(heading)})'
    values = details.get('enum') or ([details['const']] if 'const' in details else None)
    if values:
        return ', '.join(f'`{str(value).lower() if isinstance(value, bool) else value}`' for value in values)
    return _plain_type(details) + _range(details)


def _plain_type(details: dict[str, Any]) -> str:
    kind = details.get('type')
    if kind == _SCALAR:
        return 'text, number, true or false'
    if kind == _SIZE:
        return 'size'
    if kind == 'array':
        return f'list of {_items(details.get("items", {}))}'
    if kind == 'object':
        return f'mapping to {_items(details.get("additionalProperties", {}))}'
    return _PLAIN.get(str(kind), 'anything')


def _items(details: Any) -> str:
    return _type(details) if isinstance(details, dict) and details else 'anything'


def _range(details: dict[str, Any]) -> str:
    limits = [
        f'{sign} {details[key]:g}' for key, sign in _LIMITS if details.get(key) not in {None, U32_LIMIT, DURATION_LIMIT}
    ]
    return f' {", ".join(limits)}' if limits else ''


def _anchor(heading: str) -> str:
    kept = ''.join(c for c in heading.lower() if c.isalnum() or c in ' -_')
    return kept.replace(' ', '-')


if __name__ == '__main__':
    sys.stdout.write(reference())
