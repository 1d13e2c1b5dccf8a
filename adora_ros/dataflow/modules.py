"""Modules: files with nodes that a dataflow uses as one.

They are unfolded before anything else is checked, by the rules of dora 1.1: the node ``m`` with ``module: file.yml``
becomes the nodes of that file with ids ``m.<id>``, the inputs of the module (``_mod/<name>`` inside) become the sources
that ``m`` gives them, and ``m/<output>`` becomes the output of that name of the one node inside that has it. Every
value keeps the place where it is written, whichever file that is.
"""

from __future__ import annotations

import copy
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from adora_ros.dataflow.explain import explain, yaml_loc
from adora_ros.dataflow.moduleparts import (
    input_maps,
    merged_input,
    node_paths,
    output_refs,
    prepend_build,
    with_params,
)
from adora_ros.dataflow.problems import DataflowErrors, nearest
from adora_ros.dataflow.programs import absolute, why_no_file
from adora_ros.dataflow.schema import ModuleFileYaml, ModuleHeaderYaml, NodeYaml, RootYaml, keys_of
from adora_ros.dataflow.yamltree import Tree, parse

if TYPE_CHECKING:
    from pydantic import BaseModel

    from adora_ros.dataflow.yamltree import Loc

DEPTH_LIMIT = 8
"""Modules inside modules, as in dora."""
SIZE_LIMIT = 1 << 20
"""Bytes of a module file, as in dora."""
MODULE_INPUT = '_mod'
"""Stands for the module in the sources of the nodes inside."""
KEYS = ('id', 'name', 'description', 'module', 'params', 'inputs', 'env', 'build', 'deploy', '_unstable_deploy')
"""What a node with ``module`` may have."""
_PARAM = re.compile(r'[A-Za-z0-9_]+')


@dataclass
class _Item:
    """A node and where it is written."""

    node: Any
    tree: Tree
    loc: Loc
    elsewhere: list[tuple[Loc, Tree, Loc]] = field(default_factory=list)
    """Parts of the node that are written in another place."""

    @property
    def node_id(self) -> str:
        return str(self.node.get('id'))

    def where(self, part: Loc) -> tuple[Tree, Loc]:
        """Return the tree and the place in it of a part of the node."""
        tree, loc = self.tree, (*self.loc, *part)
        for suffix, other, at in self.elsewhere:
            if part[: len(suffix)] == suffix:
                tree, loc = other, (*at, *part[len(suffix) :])
        return tree, loc

    def report(self, part: Loc, message: str, *, key: bool = False) -> None:
        """Report a problem about a part of the node, at its place."""
        tree, loc = self.where(part)
        tree.problems.append(tree.problem(loc, f'node `{self.node_id}`: {message}', key=key))


@dataclass
class _Unfolded:
    """What has become of a module."""

    items: list[_Item]
    outputs: dict[str, str]
    """By output of the module the source that stands for it, ``node/output``."""


def unfold_modules(tree: Tree) -> tuple[Tree, bool]:
    """Return the tree of a dataflow without modules, and whether nodes of it are missing because of errors.

    The problems of all files are in the tree that is returned.
    """
    if not any(isinstance(node, dict) and node.get('module') is not None for node in _nodes(tree)):
        return tree, False
    unfolder = _Unfolder(tree)
    written = [_Item(node, tree, ('nodes', index)) for index, node in enumerate(_nodes(tree))]
    items, _ = unfolder.unfold(written, chain=())
    return unfolder.assemble(items), unfolder.lost


def _nodes(tree: Tree) -> list[Any]:
    nodes = tree.data.get('nodes') if isinstance(tree.data, dict) else None
    return nodes if isinstance(nodes, list) else []


class _Unfolder:
    def __init__(self, tree: Tree) -> None:
        self._root = tree
        self._base = Path(os.path.realpath(tree.file.parent))
        self._trees: dict[Path, Tree | None] = {}
        self.lost = False

    def unfold(self, written: list[_Item], chain: tuple[Path, ...]) -> tuple[list[_Item], dict[str, dict[str, str]]]:
        """Return nodes with those of modules in place of the modules, and the outputs of the modules by their ids."""
        items: list[_Item] = []
        outputs: dict[str, dict[str, str]] = {}
        failed: set[str] = set()
        for item in written:
            if not isinstance(item.node, dict) or not isinstance(item.node.get('module'), str):
                items.append(item)
                continue
            unfolded = self._module(item, chain)
            if unfolded is None:
                self.lost = True
                failed.add(item.node_id)
                continue
            outputs[item.node_id] = unfolded.outputs
            items += unfolded.items
        for item in items:
            if isinstance(item.node, dict):
                _adapt_sources(item, outputs, failed)
        return items, outputs

    def assemble(self, items: list[_Item]) -> Tree:
        """Return one tree of all nodes."""
        own = self._root
        tree = Tree(file=own.file, data={**own.data, 'nodes': [item.node for item in items]})
        for loc, place in own.values.items():
            if loc[:1] != ('nodes',) or len(loc) == 1:
                tree.values[loc] = place
        tree.keys.update({loc: place for loc, place in own.keys.items() if len(loc) == 1 or loc[0] != 'nodes'})
        for index, item in enumerate(items):
            tree.adopt(('nodes', index), item.tree, item.loc)
            for suffix, other, loc in item.elsewhere:
                tree.adopt(('nodes', index, *suffix), other, loc)
        tree.problems = list(own.problems)
        for module in self._trees.values():
            tree.problems += module.problems if module is not None else []
        return tree

    def _module(self, item: _Item, chain: tuple[Path, ...]) -> _Unfolded | None:
        before = self._count()
        self._check_node(item)
        path = self._find(item, chain)
        tree = None if path is None else self._load(path, item)
        if path is None or tree is None or self._count() > before:
            return None
        header = self._header(tree)
        if header is None:
            return None
        _check_inputs(item, header)
        inner = [self._inner(node, index, tree, item, header) for index, node in enumerate(_nodes(tree))]
        items, nested = self.unfold(inner, (*chain, path))
        if self._count() > before:
            return None
        outputs = _outputs(header, tree, _makers(inner, nested))
        return None if self._count() > before else _Unfolded(items, outputs)

    def _count(self) -> int:
        return len(self._root.problems) + sum(len(tree.problems) for tree in self._trees.values() if tree is not None)

    def _check_node(self, item: _Item) -> None:
        _validate(RootYaml, {'nodes': [item.node]}, item.tree, item.loc, depth=2)
        for key in item.node:
            if key not in KEYS and key in keys_of(NodeYaml):
                item.report(
                    (key,), f'`{key}` has no place beside `module`; give it to the nodes of the module', key=True
                )
        params = item.node.get('params')
        upper = [name.upper() for name in params] if isinstance(params, dict) else []
        for name in params if isinstance(params, dict) else ():
            if not _PARAM.fullmatch(name):
                words = f'`{name}` is not the name of a parameter; use letters, digits and _'
                item.report(('params', name), words, key=True)
            elif upper.count(name.upper()) > 1:
                words = f'several parameters become the environment variable PARAM_{name.upper()}; rename one'
                item.report(('params', name), words, key=True)

    def _find(self, item: _Item, chain: tuple[Path, ...]) -> Path | None:
        text = item.node['module']
        path = item.tree.file.parent / text
        real = Path(os.path.realpath(path))
        problem = None
        if Path(text).is_absolute():
            problem = f'the module path `{text}` must be relative'
        elif why_no_file(real) is not None:
            problem = why_no_file(absolute(text, item.tree.file.parent), 'module file')
        elif not real.is_relative_to(self._base):
            problem = f'the module file `{real}` is outside of the folder of the dataflow, `{self._base}`'
        elif real in chain:
            circle = ' -> '.join(file.name for file in (*chain[chain.index(real) :], real))
            problem = f'the modules include each other in a circle: {circle}'
        elif len(chain) >= DEPTH_LIMIT:
            problem = f'modules are nested more than {DEPTH_LIMIT} deep'
        if problem is not None:
            item.report(('module',), problem)
            return None
        return real

    def _load(self, path: Path, item: _Item) -> Tree | None:
        if path not in self._trees:
            self._trees[path] = self._read(path, item)
        elif self._trees[path] is None:
            item.report(('module',), 'the module file has errors')
        return self._trees[path]

    def _read(self, path: Path, item: _Item) -> Tree | None:
        try:
            raw = path.read_bytes()
            if len(raw) > SIZE_LIMIT:
                item.report(('module',), f'the module file `{path}` is larger than {SIZE_LIMIT} bytes')
                return None
            return parse(raw.decode('utf-8-sig'), path)
        except DataflowErrors as errors:
            self._root.problems += errors.problems
        except UnicodeDecodeError:
            item.report(('module',), f'the module file `{path}` is not UTF-8 text')
        except OSError as error:
            item.report(('module',), f'the module file `{path}` cannot be read: {error.strerror}')
        return None

    def _header(self, tree: Tree) -> ModuleHeaderYaml | None:
        data = tree.data if isinstance(tree.data, dict) else {}
        loose = {**data, 'nodes': list(_nodes(tree))} if isinstance(data.get('nodes'), list) else data
        model = _validate(ModuleFileYaml, loose, tree, ())
        if not isinstance(model, ModuleFileYaml):
            return None
        header = model.module
        for key in ('inputs', 'inputs_optional', 'outputs'):
            names = getattr(header, key)
            for index, name in enumerate(names):
                if name in names[:index] or (key == 'inputs_optional' and name in header.inputs):
                    tree.problems.append(tree.problem(('module', key, index), f'`{name}` is given twice'))
        return header

    def _inner(self, node: Any, index: int, tree: Tree, outer: _Item, header: ModuleHeaderYaml) -> _Item:
        item = _Item(copy.deepcopy(node), tree, ('nodes', index))
        if not isinstance(node, dict) or not isinstance(node.get('id'), str):
            return item
        own = {other['id'] for other in _nodes(tree) if isinstance(other, dict) and isinstance(other.get('id'), str)}
        item.node['id'] = f'{outer.node_id}.{node["id"]}'
        for place, inputs in input_maps(item.node):
            _bind(item, place, inputs, outer, header, own)
        for holder, key in node_paths(item.node):
            holder[key] = _relocated(holder[key], tree.file.parent, self._base)
        if 'deploy' in outer.node and not {'deploy', '_unstable_deploy'} & set(item.node):
            item.node['deploy'] = outer.node['deploy']
            item.elsewhere.append((('deploy',), *outer.where(('deploy',))))
        self._inherit_env(item, outer)
        for build in (tree.data.get('build'), outer.node.get('build')):
            if isinstance(build, str):
                prepend_build(item.node, build)
        return item

    @staticmethod
    def _inherit_env(item: _Item, outer: _Item) -> None:
        env, own = outer.node.get('env'), item.node.setdefault('env', {})
        if isinstance(env, dict) and isinstance(own, dict):
            for name, value in env.items():
                if name not in own:
                    own[name] = value
                    item.elsewhere.append((('env', name), *outer.where(('env', name))))
        params = outer.node.get('params')
        if isinstance(params, dict) and isinstance(own, dict):
            with_params(item.node, params)
        if not own:
            del item.node['env']


def _bind(
    item: _Item, place: Loc, inputs: dict[str, Any], outer: _Item, header: ModuleHeaderYaml, own: set[str]
) -> None:
    """Give the inputs of a node inside of a module the sources that they have outside."""
    given = outer.node.get('inputs') or {}
    for name, written in tuple(inputs.items()):
        source = _source_of(written)
        node, _, port = source.partition('/')
        if node in own:
            inputs[name] = _with_source(written, f'{outer.node_id}.{source}')
        elif node != MODULE_INPUT:
            continue
        elif port in given:
            inputs[name] = merged_input(written, given[port])
            item.elsewhere.append(((*place, name), *outer.where(('inputs', port))))
            for key in written if isinstance(written, dict) else ():
                if key != 'source':
                    item.elsewhere.append(((*place, name, key), item.tree, (*item.loc, *place, name, key)))
        elif port in header.inputs_optional:
            del inputs[name]
        elif port not in header.inputs:
            known = [*header.inputs, *header.inputs_optional]
            words = f'input `{name}`: the module has no input `{port}`{nearest(port, known)}'
            item.report((*place, name), words)


def _check_inputs(item: _Item, header: ModuleHeaderYaml) -> None:
    given = item.node.get('inputs') or {}
    for name in header.inputs:
        if name not in given:
            item.report((), f'the module `{header.name}` needs the input `{name}`; give it a source')
    known = [*header.inputs, *header.inputs_optional]
    for name in given:
        if name not in known:
            item.report(
                ('inputs', name), f'the module `{header.name}` has no input `{name}`{nearest(name, known)}', key=True
            )


def _makers(inner: list[_Item], nested: dict[str, dict[str, str]]) -> dict[str, list[str]]:
    """Return who makes which output inside of a module; a module in it counts with its own outputs."""
    makers: dict[str, list[str]] = {}
    for item in inner:
        if not isinstance(item.node, dict):
            continue
        own = {name: f'{item.node_id}/{reference}' for name, reference in output_refs(item.node)}
        for name, source in nested.get(item.node_id, own).items():
            makers.setdefault(name, []).append(source)
    return makers


def _outputs(header: ModuleHeaderYaml, tree: Tree, makers: dict[str, list[str]]) -> dict[str, str]:
    """Return what stands for each output of a module."""
    found = {}
    for index, name in enumerate(header.outputs):
        sources = makers.get(name, [])
        if len(sources) == 1:
            found[name] = sources[0]
            continue
        what = (
            f'several nodes of the module have it: {", ".join(sources)}' if sources else 'no node of the module has it'
        )
        tree.problems.append(tree.problem(('module', 'outputs', index), f'output `{name}`: {what}'))
    return found


def _adapt_sources(item: _Item, outputs: dict[str, dict[str, str]], failed: set[str]) -> None:
    """Replace the outputs of modules among the sources of a node by what stands for them."""
    for place, inputs in input_maps(item.node):
        for name, written in tuple(inputs.items()):
            node, _, output = _source_of(written).partition('/')
            if node in failed:
                del inputs[name]
            elif node in outputs and output in outputs[node]:
                inputs[name] = _with_source(written, outputs[node][output])
            elif node in outputs:
                del inputs[name]
                words = f'input `{name}`: the module `{node}` has no output `{output}`{nearest(output, outputs[node])}'
                item.report((*place, name), words)


def _source_of(written: Any) -> str:
    source = written.get('source') if isinstance(written, dict) else written
    return source if isinstance(source, str) else ''


def _with_source(written: Any, source: str) -> Any:
    return {**written, 'source': source} if isinstance(written, dict) else source


def _relocated(text: str, folder: Path, base: Path) -> str:
    """Return a path of a module as seen from the dataflow; a bare name that is no file there may be on ``PATH``."""
    path = folder / text
    if text.startswith('$') or ('/' not in text and not os.access(path, os.F_OK)):
        return text
    relative = os.path.relpath(path, base)
    return os.path.normpath(path) if relative.startswith('..') else relative


def _validate(model: type[BaseModel], data: Any, tree: Tree, at: Loc, *, depth: int = 0) -> BaseModel | None:
    """Return ``data`` as a model; what it refuses is reported below ``at``, in place of the first ``depth`` steps."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            loc = yaml_loc(detail['loc'], data)
            message = explain(detail, loc, data, root=model)
            unknown = detail['type'] == 'extra_forbidden'
            tree.problems.append(tree.problem((*at, *loc[depth:]), message, key=unknown))
    return None
