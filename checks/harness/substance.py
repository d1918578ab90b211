"""Two Python texts, brought to the same layout, so that only substance differs.

Gone are comments, docstrings, type hints and the imports that only those needed; what
is left is laid out alike, its functions in the same order. A local name that plainly
stands for one of the other text gets that name.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Scope: TypeAlias = ast.Module | ast.ClassDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
LOCAL = re.compile("\0(.*?)\0")
FEWEST = 2  # places in which two names must stand for each other


@dataclass(frozen=True)
class Alike:
    """The lines of both texts, and as (old, new) what names the first one got."""

    theirs: list[str]
    ours: list[str]
    renamed: list[tuple[str, str]]


def alike(theirs: str, ours: str) -> Alike:
    """Bring two texts to the same layout. Raises `SyntaxError` if one is no Python."""
    first, second = _bare(theirs), _bare(ours)
    order = [node.name for node in second.body if isinstance(node, DEFINITIONS)]
    renamed = sorted(_rename(first, second))
    return Alike(_laid_out(first, order), _laid_out(second, order), renamed)


def _bare(text: str) -> ast.Module:
    """Parse a text; leave docstrings and type hints out."""
    try:
        tree = ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "nested too deep") from error
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, *DEFINITIONS)) and ast.get_docstring(node):
            rest = node.body[1:]
            node.body = rest or ([] if isinstance(node, ast.Module) else [ast.Pass()])
    bare: ast.Module = ast.fix_missing_locations(_Plain().visit(tree))
    return bare


class _Plain(ast.NodeTransformer):
    """Takes type hints away and several assignments in one statement apart.

    The hints of a class's fields stay: they may be a dataclass's.
    """

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """Leave the name."""
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Leave out what it returns."""
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Leave out what it returns."""
        node.returns = None
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Leave its fields as they are."""
        for statement in node.body:
            if not isinstance(statement, ast.AnnAssign):
                self.visit(statement)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Make it a plain assignment, where it assigns."""
        return ast.Assign([node.target], node.value) if node.value else node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        """Make `a, b = c, d` two assignments where that comes to the same."""
        self.generic_visit(node)
        match node:
            case ast.Assign([ast.Tuple(names)], ast.Tuple(values)) if len(names) == len(
                values
            ) and _are_independent(names, values):
                pairs = zip(names, values, strict=True)
                return [ast.Assign([name], value) for name, value in pairs]
        return node


def _are_independent(targets: Sequence[ast.expr], values: Sequence[ast.expr]) -> bool:
    """Whether each target is a name that no later value reads."""
    for number, target in enumerate(targets, start=1):
        read = {name.id for value in values[number:] for name in _names(value)}
        if not isinstance(target, ast.Name) or target.id in read:
            return False
    return not any(isinstance(value, ast.Starred) for value in values)


def _laid_out(tree: ast.Module, order: Sequence[str]) -> list[str]:
    """Return the lines: imports, other statements, definitions in the given order."""
    places = {name: place for place, name in enumerate(order)}
    definitions = [node for node in tree.body if isinstance(node, DEFINITIONS)]
    definitions.sort(key=lambda node: places.get(node.name, len(places)))
    imports = [n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
    rest = [n for n in tree.body if n not in definitions and n not in imports]
    blocks = ["\n".join(_needed(imports, tree)), "\n".join(map(ast.unparse, rest))]
    blocks += [ast.unparse(node) for node in definitions]
    return "\n\n".join(block for block in blocks if block).splitlines()


def _needed(
    imports: Sequence[ast.Import | ast.ImportFrom], tree: ast.Module
) -> list[str]:
    """Return a line for each name that is imported and used, in one spelling."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    lines = set()
    for node in imports:
        source = ""
        if isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
        for alias in node.names:
            if (alias.asname or alias.name.split(".")[0]) not in used | {"*"}:
                continue
            name, origin = alias.name, source
            if not source and alias.asname and "." in name:  # `import a.b as c`
                origin, _, name = name.rpartition(".")
            renamed = f" as {alias.asname}" if alias.asname not in (None, name) else ""
            lines.add(f"{f'from {origin} ' if origin else ''}import {name}{renamed}")
    return sorted(lines)


def _rename(theirs: Scope, ours: Scope) -> set[tuple[str, str]]:
    """Give local names of `theirs` those of `ours`; return what was renamed."""
    known = {node.name: node for node in ours.body if isinstance(node, DEFINITIONS)}
    renamed: set[tuple[str, str]] = set()
    for node in theirs.body:
        other = known.get(node.name) if isinstance(node, DEFINITIONS) else None
        if isinstance(node, ast.ClassDef) and isinstance(other, ast.ClassDef):
            renamed |= _rename(node, other)
        elif isinstance(node, FUNCTIONS) and isinstance(other, FUNCTIONS):
            names = _counterparts(node, other)
            for name in _names(node):
                name.id = names.get(name.id, name.id)
            renamed |= set(names.items())
    return renamed


def _counterparts(theirs: Function, ours: Function) -> dict[str, str]:
    """Say which local name stands for which, where that is beyond doubt.

    Lines that are the same but for local names are laid side by side. Two names belong
    together when they always meet each other there, more often than not.
    """
    first, second = _marked(theirs), _marked(ours)
    a, b = ([LOCAL.sub("\0", line) for line in lines] for lines in (first, second))
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    met: Counter[tuple[str, str]] = Counter()
    for i, k, size in matcher.get_matching_blocks():
        for one, other in zip(first[i : i + size], second[k : k + size], strict=True):
            met.update(zip(LOCAL.findall(one), LOCAL.findall(other), strict=True))
    taken = {name.id for name in _names(theirs)} | _other_names(theirs)
    used = Counter(LOCAL.findall("\n".join(first)))
    return {
        old: new
        for (old, new), number in met.items()
        if new not in taken
        and number >= max(FEWEST, used[old] / 2)
        and sum(old == o or new == n for o, n in met) == 1
    }


def _marked(function: Function) -> list[str]:
    """Return the lines of a function, its local names between marks."""
    bound = {n.id for n in _names(function) if not isinstance(n.ctx, ast.Load)}
    bound -= _other_names(function)
    copy = ast.parse(ast.unparse(function)).body[0]
    for name in _names(copy):
        if name.id in bound:
            name.id = f"\0{name.id}\0"
    return ast.unparse(copy).splitlines()


def _names(tree: ast.AST) -> Iterator[ast.Name]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Name))


def _other_names(function: Function) -> set[str]:
    """Return the names bound or declared otherwise than by assignment: arguments …"""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Constant, ast.keyword)):
            continue
        for _, value in ast.iter_fields(node):
            names = value if isinstance(value, list) else [value]
            found.update(name for name in names if isinstance(name, str))
    return found
