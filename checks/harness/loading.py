"""Load a candidate's file as a module, or say in what way it is not ready.

The text is read and compiled here, not by the import system: no stale `.pyc` can answer
for it, and its lines can be quoted after the file is gone.
"""

from __future__ import annotations

import ast
import difflib
import linecache
import sys
import traceback
from pathlib import Path
from types import ModuleType

NAME = "solution"  # of the module, and of the file in every message


class NotReady(Exception):
    """The file cannot be judged yet; the text says why and what to do."""


def load(path: Path, stub: str | None = None) -> ModuleType:
    """Run the file at `path` and return it as a module.

    With the text of the kata's `stub` it is also seen to that the file is not the stub
    untouched and defines each name that the stub defines. Raises `NotReady`.
    """
    text = decode(path.read_bytes())
    tree = parse(text)
    if stub is not None and is_untouched(tree, stub):
        raise NotReady(
            f"{NAME}.py is still the stub\n"
            f"Next: write {_listed(names_of(stub))}, then run this again."
        )
    module = run(text, path)
    if stub is not None:
        _demand_names(module, names_of(stub))
    return module


def decode(content: bytes) -> str:
    """Return the text of a file that must be UTF-8. Raises `NotReady`."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise NotReady(
            f"{NAME}.py is not UTF-8: byte {content[error.start]:#04x} in line {line}\n"
            "Next: save the file with the encoding UTF-8."
        ) from error


def parse(text: str) -> ast.Module:
    """Return the syntax tree. Raises `NotReady` when there is none or nothing in it."""
    try:
        tree = ast.parse(text, f"{NAME}.py")
    except SyntaxError as error:
        quote = _quote(error.lineno, error.text or "")
        raise NotReady(
            f"{type(error).__name__}: {error.msg}{quote}\n"
            "Next: mend that line; nothing of the file can run before."
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise NotReady(
            f"{NAME}.py is not Python: {str(error) or 'nested too deep'}"
        ) from error
    if not _without_docstring(tree.body):
        raise NotReady(
            f"{NAME}.py is empty\n"
            "Next: start from the stub (stub.py, beside the kata's README.md)."
        )
    return tree


def run(text: str, path: Path) -> ModuleType:
    """Execute `text` as the module `solution`. Raises `NotReady` when it raises."""
    module = ModuleType(NAME)
    module.__file__ = str(path)
    lines = text.splitlines(keepends=True)
    # Without a modification time linecache never looks at the disk again.
    linecache.cache[str(path)] = (len(text), None, lines, str(path))
    sys.modules[NAME] = module
    try:
        exec(compile(text, str(path), "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:  # also SystemExit, and what pytest.exit raises
        raise NotReady(_import_failed(error, str(path))) from error
    module.__file__ = str(path)  # again: by it the checks know which lines are theirs
    return module


def names_of(stub: str) -> list[str]:
    """Return the names that a solution must define: the stub's public functions."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = [node for node in ast.parse(stub).body if isinstance(node, kinds)]
    return [node.name for node in nodes if not node.name.startswith("_")]


def is_untouched(tree: ast.Module, stub: str) -> bool:
    """Whether a file is its stub but for layout, comments and docstrings."""
    return _bare(tree) == _bare(ast.parse(stub))


def _bare(tree: ast.Module) -> str:
    copy = ast.parse(ast.unparse(tree))
    owners = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in ast.walk(copy):
        if isinstance(node, owners):
            node.body = _without_docstring(node.body)
    return ast.dump(copy)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    is_docstring = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    return body[1:] if is_docstring else body


def _import_failed(error: BaseException, path: str) -> str:
    steps = [s for s in traceback.extract_tb(error.__traceback__) if s.filename == path]
    where = _quote(steps[-1].lineno, steps[-1].line or "") if steps else ""
    said = str(error).strip().splitlines()
    what = type(error).__name__ + (f": {said[0][:300]}" if said else "")
    if isinstance(error, Exception):
        advice = "mend that line; no check runs before the file can be imported."
    else:
        advice = 'move what is to run by itself under `if __name__ == "__main__":`.'
    return f"importing {NAME}.py raised {what}{where}\nNext: {advice}"


def _quote(line: int | None, text: str) -> str:
    text = text.strip()
    shown = text if len(text) <= 100 else f"{text[:97]}..."
    return "" if line is None else f"\n  {NAME}.py line {line}: {shown}"


def _demand_names(module: ModuleType, names: list[str]) -> None:
    for name in names:
        value = vars(module).get(name)
        if callable(value):
            continue
        if value is not None:
            raise NotReady(
                f"`{name}` in {NAME}.py is no function but {type(value).__name__}\n"
                f"Next: define `def {name}(...)` as in the stub, and keep its name."
            )
        own = [n for n, v in vars(module).items() if callable(v) and n[0] != "_"]
        near = difflib.get_close_matches(name, own, n=1)
        hint = f"; it does define `{near[0]}`" if near else ""
        raise NotReady(
            f"{NAME}.py does not define `{name}`{hint}\n"
            f"Next: define it with the signature that the stub gives."
        )


def _listed(names: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)
