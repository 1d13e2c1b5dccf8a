"""The records as parameters: ``dataflows.<uuid>.status`` and so on, with plain Python values.

What ROS says about parameters is kept (rcl_interfaces/srv): a list is filtered by prefixes and depth, an unknown name
has no value, and setting a value to nothing deletes it, which here means the record.

A record is set as a whole: all parameters of one request belong to one record, and its ``generation`` among them is
the one that the request makes, so exactly one more than the one that was read. Of two clients that read the same
generation, the second is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from adora_ros.coordinator.records import (
    KINDS,
    BuildRecord,
    DataflowRecord,
    MachineRecord,
    Presence,
    Record,
    Status,
    Wanted,
    check_step,
)
from adora_ros.errors import AdoraError, RecordError, StaleGenerationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from adora_ros.coordinator.registry import Registry

Value = str | int | tuple[str, ...]
Accept = Callable[[DataflowRecord | None, DataflowRecord], DataflowRecord]

RECURSIVE = 0
"""The depth that stands for all (``rcl_interfaces/srv/ListParameters``)."""
HEARTBEAT_AGE = 'last_heartbeat_ago_ms'
"""Computed for machines, where it is known; nothing that is stored."""
READ_ONLY = frozenset({'created_at', 'updated_at', HEARTBEAT_AGE})
FIELDS: dict[type[Record], dict[str, str]] = {
    DataflowRecord: {
        'name': 'name of the dataflow',
        'descriptor': 'the dataflow as JSON',
        'status': f'one of {", ".join(status.value for status in Status)}',
        'error': 'why it failed: `node: reason`, joined by `; `',
        'machines': 'the machines that it runs on; at the start those that its nodes name, and an empty text for none',
        'wanted': '`run` has a new record started by the managers that wait, `stop` has a dataflow stopped',
        'file': 'path of its YAML where it was started from',
    },
    BuildRecord: {
        'name': 'name of the dataflow',
        'machine': 'where it is built',
        'status': f'one of {", ".join(status.value for status in Status)}',
        'error': 'why it failed',
    },
    MachineRecord: {
        'hostname': 'what the machine calls itself',
        'status': f'one of {", ".join(presence.value for presence in Presence)}',
    },
}
"""The parameters of a record of each kind, and what they are."""
COMMON_FIELDS = {
    'generation': 'number of the last change; set it to one more than the one that was read',
    'created_at': 'wall time of the first generation, ISO 8601 in UTC',
    'updated_at': 'wall time of this generation, ISO 8601 in UTC',
}
MACHINE_FIELDS = {HEARTBEAT_AGE: "milliseconds since it was last heard of, on the coordinator's clock"}


@dataclass(frozen=True, kw_only=True)
class Description:
    """What a parameter is.

    Attributes:
        text: For people.
        read_only: Whether it cannot be set.

    """

    text: str
    read_only: bool


@dataclass(frozen=True)
class _Name:
    """A parameter's name, taken apart."""

    cls: type[Record]
    key: str
    field: str

    @property
    def prefix(self) -> str:
        return f'{self.cls.KIND}.{self.key}'


class RecordParameters:
    """Reads and writes the records of a registry by parameter names.

    Args:
        registry: The records.
        accept: Given a dataflow's record and what a request makes of it, returns what is to be written instead, or
            raises an error: it decides over what is wanted of a dataflow.
        clock: Steady time in seconds.
        label: Returns the wall time as a label.

    """

    def __init__(
        self, registry: Registry, *, accept: Accept, clock: Callable[[], float], label: Callable[[], str]
    ) -> None:
        self._registry = registry
        self._accept = accept
        self._clock = clock
        self._label = label

    @property
    def failure(self) -> str:
        """Why what was set last is in memory only; empty if it is where it should be."""
        return self._registry.failure

    def names(self, prefixes: Sequence[str], depth: int) -> tuple[list[str], list[str]]:
        """Return the names of parameters, and what is before their last dots.

        Args:
            prefixes: Only names that are one of these, or below it; all names if there are none.
            depth: Levels below the prefix, or :data:`RECURSIVE`.

        """
        names: list[str] = []
        parents: list[str] = []
        for parent, fields in self._records():
            found = [f'{parent}.{field}' for field in fields if _matches(f'{parent}.{field}', prefixes, depth)]
            if found:
                names += found
                parents.append(parent)
        return names, parents

    def get(self, name: str) -> Value | None:
        """Return the value of a parameter, or None if there is none."""
        parsed = _parse(name)
        if parsed is None:
            return None
        record = self._registry.get(parsed.cls, parsed.key)
        if record is None:
            return None
        if isinstance(record, MachineRecord) and parsed.field == HEARTBEAT_AGE:
            age = self._registry.heartbeat_age(record.id, self._clock())
            return None if age is None else int(age * 1000)
        return value_of(record, parsed.field)

    def describe(self, name: str) -> Description | None:
        """Return what a parameter is, or None if there is none."""
        if self.get(name) is None:
            return None
        field = name.rpartition('.')[2]
        texts = {**FIELDS[KINDS[name.partition('.')[0]]], **COMMON_FIELDS, **MACHINE_FIELDS}
        return Description(text=texts[field], read_only=field in READ_ONLY)

    def set_one(self, name: str, value: Value | None) -> str:
        """Set one parameter on top of whatever there is; return an error text, empty if all went well.

        This is for operators: it makes the next generation without having read the last one.
        """
        parsed = _parse(name)
        record = None if parsed is None else self._registry.get(parsed.cls, parsed.key)
        if parsed is None or parsed.field == 'generation' or record is None:
            return self.set_atomically({name: value})
        generation = f'{parsed.prefix}.generation'
        return self.set_atomically({name: value, generation: record.generation + 1})

    def set_atomically(self, values: Mapping[str, Value | None]) -> str:
        """Write one record; return an error text, empty if it is written."""
        try:
            self._set(values)
        except AdoraError as error:
            return str(error)
        return ''

    def _set(self, values: Mapping[str, Value | None]) -> None:
        names = [_required(name) for name in values]
        if not names:
            return
        first = names[0]
        other = next((name for name in names if name.prefix != first.prefix), None)
        if other is not None:
            msg = f'one request writes one record, not both {first.prefix} and {other.prefix}; send two'
            raise RecordError(msg)
        fields = {name.field: value for name, value in zip(names, values.values(), strict=True)}
        record = self._registry.get(first.cls, first.key)
        if 'generation' in fields and fields['generation'] is None:
            self._delete(first, record, fields)
            return
        after = _written(first, record, fields, self._label())
        if isinstance(after, DataflowRecord):
            after = self._accept(record if isinstance(record, DataflowRecord) else None, after)
        self._registry.commit(record, after)

    def _delete(self, name: _Name, record: Record | None, fields: Mapping[str, Value | None]) -> None:
        if record is None:
            msg = f'{name.prefix}: there is no such record'
            raise RecordError(msg)
        if any(value is not None for value in fields.values()):
            msg = f'{name.prefix}: a request that deletes the record cannot set its parameters, too; send two'
            raise RecordError(msg)
        self._registry.delete(record)

    def _records(self) -> Iterator[tuple[str, list[str]]]:
        now = self._clock()
        for cls in KINDS.values():
            plain = [*FIELDS[cls], *COMMON_FIELDS]
            for record in self._registry.list(cls):
                known = isinstance(record, MachineRecord) and self._registry.heartbeat_age(record.id, now) is not None
                yield f'{cls.KIND}.{record.key}', [*plain, HEARTBEAT_AGE] if known else plain


def value_of(record: Record, field: str) -> Value:
    """Return the value of a record's field as a parameter has it."""
    value = getattr(record, field)
    plain: Value = value.value if isinstance(value, Enum) else value
    return plain


def _matches(name: str, prefixes: Sequence[str], depth: int) -> bool:
    """Apply the filter of ``list_parameters`` as rclpy does."""
    if not prefixes:
        return depth == RECURSIVE or name.count('.') < depth
    return any(
        name == prefix
        or (name.startswith(f'{prefix}.') and (depth == RECURSIVE or name[len(prefix) + 1 :].count('.') < depth))
        for prefix in prefixes
    )


def _parse(name: str) -> _Name | None:
    """Take a name apart; a key may have dots in it."""
    kind, _, rest = name.partition('.')
    key, _, field = rest.rpartition('.')
    cls = KINDS.get(kind)
    if cls is None or not key:
        return None
    known = field in FIELDS[cls] or field in COMMON_FIELDS or (cls is MachineRecord and field in MACHINE_FIELDS)
    return _Name(cls, key, field) if known else None


def _required(name: str) -> _Name:
    parsed = _parse(name)
    if parsed is None:
        forms = '; '.join(
            f'{cls.KIND}.<{cls.KEY}>.{{{", ".join([*fields, "generation"])}}}' for cls, fields in FIELDS.items()
        )
        msg = f'there can be no parameter {name}; what can be set is {forms}'
        raise RecordError(msg)
    if parsed.field in READ_ONLY:
        msg = f'{name} is read-only'
        raise RecordError(msg)
    return parsed


def _written(name: _Name, record: Record | None, fields: Mapping[str, Value | None], stamp: str) -> Record:
    """Return the record that a request makes of what there is."""
    generation = fields.get('generation')
    read = 0 if record is None else record.generation
    if generation is None:
        msg = f'{name.prefix}.generation is missing; set it to {read + 1}'
        raise RecordError(msg)
    if generation != read + 1 or type(generation) is not int:
        msg = f'{name.prefix}: generation {generation} cannot follow {read}; read the record again and set {read + 1}'
        raise StaleGenerationError(msg)
    base = record if record is not None else name.cls.new(name.key)
    changes = {field: _converted(base, field, value) for field, value in fields.items() if field != 'generation'}
    _check_status(base, changes, is_new=record is None)
    return base.changed(stamp, **changes)


def _converted(record: Record, field: str, value: Value | None) -> object:
    """Return what a parameter's value is in the record."""
    before = getattr(record, field)
    name = f'{record.KIND}.{record.key}.{field}'
    if value is None:
        msg = f'{name} cannot be deleted alone; delete {record.KIND}.{record.key}.generation to delete the record'
        raise RecordError(msg)
    if isinstance(before, (Status, Presence, Wanted)):
        try:
            return type(before)(value)
        except ValueError as error:
            known = ', '.join(each.value or 'an empty text' for each in type(before))
            msg = f'{name} cannot be {value!r}; use one of {known}'
            raise RecordError(msg) from error
    if type(value) is not type(before):
        msg = f'{name} cannot be {value!r}; it is {"a list of texts" if isinstance(before, tuple) else "a text"}'
        raise RecordError(msg)
    return value


def _check_status(base: Record, changes: dict[str, object], *, is_new: bool) -> None:
    """Let the state change only by the table, and let only what failed have an error."""
    if not isinstance(base, (DataflowRecord, BuildRecord)):
        return
    status = changes.get('status', base.status)
    assert isinstance(status, Status)  # noqa: S101 - _converted made it
    if status is not base.status and not is_new:
        check_step(base.status, status, presumed=isinstance(base, DataflowRecord) and base.presumed)
    if status is not Status.FAILED:
        if changes.get('error'):
            msg = f'{base.KIND}.{base.key}.error is only for what is Failed; set its status, too'
            raise RecordError(msg)
        changes['error'] = ''
    if isinstance(base, DataflowRecord) and status is not base.status:
        changes['presumed'] = False
