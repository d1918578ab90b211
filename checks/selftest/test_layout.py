"""Where things stand, and that each kata is whole: statement, stub, reference, sheet.

What is tested is form. Whether a check is right is what the kill matrix tells.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from checks.harness import doctor
from checks.harness.catalogue import LEVELS, ROOT, Kata, katas
from checks.mistakes import mistakes_of

DOTFILES = {".ci", ".github", ".gitignore"}

STATEMENT_SECTIONS = ["Must hold", "Example", "Not asked"]
STATEMENT_LINES = 60  # one screen
SHEET_SECTIONS = [
    "The ask",
    "If they ask",
    "Hints",
    "The twist",
    "Then ask",
    "Why it is written so",
]
REFERENCE_LINES = 20  # a function, its docstring apart: what fits on a whiteboard
CHECK_LINES = 45
CHECK_WORDS = range(3, 10)

# What the contract of a kata names; a file may hold more.
MISTAKES = {
    "train_epoch": """
        no-zero-grad zero-grad-once zero-grad-after-backward entry-grad-leaks
        mean-of-batch-means divides-by-batches softmax-before-ce loss-after-update
        keeps-graph no-train-mode leaves-eval-mode no-empty-guard
        no-samples-returns-zero counts-empty-as-batch steps-once-per-epoch no-step
        step-before-backward second-pass-loss len-of-batches materialises-batches
        targets-not-moved features-not-moved returns-tensor
        weights-by-nominal-batch-size
    """,
    "evaluate": """
        no-eval-mode restores-train-mode no-no-grad leaks-grad-mode
        mean-of-batch-means mean-of-batch-accuracies argmax-over-batch
        accuracy-in-percent softmax-before-ce no-empty-guard no-samples-returns-zero
        zeroes-grads eval-after-first-batch returns-tensors integer-division
        grad-mode-lost-on-error grad-mode-forced-on toggles-requires-grad
    """,
    "accumulation": """
        no-division reports-scaled-loss drops-last-group
        last-group-divided-by-full-count equal-weight-micro-batches
        zero-grad-every-batch steps-every-batch off-by-one-boundary
        counts-empty-batches holds-every-graph no-zero-after-step entry-grad-leaks
        mean-of-batch-means extra-step-at-end no-argument-check
        no-samples-returns-zero no-train-mode materialises-batches targets-not-moved
        keeps-graph divisor-not-reset forward-on-empty retain-graph
    """,
    "amp_step": """
        backward-inside-autocast no-autocast loss-outside-autocast unscaled-backward
        clips-scaled-gradients optimizer-step-directly no-update double-update
        scheduler-always-steps skip-detected-by-scale-change reports-scaled-loss
        no-zero-grad casts-model-to-half scheduler-before-optimizer clip-after-step
        stepped-always-true dtype-ignored stepped-by-finite-loss no-update-on-skip
    """,
    "checkpoint": """
        no-optimizer-state no-scheduler-state no-scaler-state saves-whole-model
        weights-only-false non-atomic-write missing-state-ignored partial-load
        strict-false epoch-off-by-one drops-best-metric saves-parameters-only
        loads-into-copy wrong-keys no-map-location leaves-temp-file
        assign-replaces-parameters temp-on-other-filesystem bare-filename-fails
        falsy-best-metric error-order
    """,
}
FAIR_VARIATIONS = 8

Definition = ast.FunctionDef | ast.AsyncFunctionDef


def each_kata() -> pytest.MarkDecorator:
    """Run a test once a kata."""
    return pytest.mark.parametrize("kata", katas(), ids=lambda kata: kata.name)


# --- Reading --------------------------------------------------------------------------


def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(tree: ast.AST) -> Iterator[Definition]:
    """Give every function and method, inner ones included."""
    return (node for node in ast.walk(tree) if isinstance(node, Definition))


def public(tree: ast.Module) -> dict[str, Definition | ast.ClassDef]:
    """Return the public functions and classes of a module."""
    return {
        node.name: node
        for node in tree.body
        if isinstance(node, Definition | ast.ClassDef) and node.name[0] != "_"
    }


def signatures(tree: ast.Module) -> dict[str, str]:
    """Return the parameters and result of each public function and method."""
    found = {}
    for name, node in public(tree).items():
        methods = node.body if isinstance(node, ast.ClassDef) else [node]
        for method in methods:
            if isinstance(method, Definition):
                result = ast.unparse(method.returns) if method.returns else None
                where = name if method is node else f"{name}.{method.name}"
                found[where] = f"({ast.unparse(method.args)}) -> {result}"
    return found


def num_lines(function: Definition) -> int:
    """Return the lines of a function's body, its docstring apart."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def sections(text: str, mark: str = "##") -> dict[str, str]:
    """Return the text below each heading of one level, in order."""
    parts = re.split(rf"^{mark} (.*)\n", text + "\n", flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], (part.strip() for part in parts[1::2]), strict=True))


def numbered(text: str) -> list[int]:
    """Return the numbers that a numbered list gives its items."""
    return [int(n) for n in re.findall(r"^(\d+)\. \S", text, re.MULTILINE)]


# --- The repository -------------------------------------------------------------------


def test_top_level_is_the_fixed_set() -> None:
    """What git tracks stands in the folders that the README names."""
    run = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if run.returncode:
        pytest.skip("not a git repository: an archive, or a copy")

    tops = {path.split("/")[0] for path in run.stdout.splitlines()}
    assert tops == doctor.TOP_LEVEL | DOTFILES


def test_every_folder_of_katas_is_a_kata() -> None:
    """And every file of one belongs to a kata that is there."""
    names = {kata.name for kata in katas()}

    folders = {path.name for path in (ROOT / "katas").iterdir() if path.is_dir()}
    assert folders - {"__pycache__"} == names
    assert {path.stem for path in (ROOT / "reference").glob("*.*")} == names
    tests = {p.stem.removeprefix("test_") for p in ROOT.glob("checks/test_*.py")}
    assert tests == names
    entries = {path.stem for path in ROOT.glob("checks/mistakes/*.py")}
    assert entries - {"__init__"} == names


# --- One kata -------------------------------------------------------------------------


@each_kata()
def test_statement_has_its_form(kata: Kata) -> None:
    """Name, level, minutes and topics; numbered claims; an example; one screen."""
    text = kata.statement.read_text(encoding="utf-8")
    lines = text.splitlines()

    assert lines[0] == f"# {kata.name}"
    levels = "|".join(LEVELS)
    assert re.fullmatch(rf"({levels}) · [1-9]\d* minutes · trains: \S.*", lines[1])
    parts = sections(text)
    assert list(parts) == STATEMENT_SECTIONS
    assert all(parts.values())
    claims = numbered(parts["Must hold"])
    assert claims
    assert claims == list(range(1, len(claims) + 1))
    assert len(lines) <= STATEMENT_LINES


@each_kata()
def test_stub_is_a_contract(kata: Kata) -> None:
    """Full types, a docstring, and nothing but NotImplementedError."""
    tree = parse(kata.stub)

    assert public(tree)
    for node in public(tree).values():
        assert ast.get_docstring(node), f"{node.name} has no docstring"
    for function in functions(tree):
        where = f"{kata.name}: {function.name}"
        *given, last = function.body
        assert ast.unparse(last) == "raise NotImplementedError", where
        assert len(given) == bool(ast.get_docstring(function)), where
        assert function.returns, f"{where}: no type of the result"
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [a for a in (arguments.vararg, arguments.kwarg) if a]
        untyped = [a.arg for a in every if not a.annotation and a.arg != "self"]
        assert not untyped, f"{where}: no types for {untyped}"


@each_kata()
def test_reference_answers_the_stub(kata: Kata) -> None:
    """The same public names and signatures, each function fit for a whiteboard."""
    tree = parse(kata.reference)
    asked, given = signatures(parse(kata.stub)), signatures(tree)

    assert {name: given.get(name) for name in asked} == asked
    assert list(public(tree)) == list(public(parse(kata.stub)))
    sizes = {function.name: num_lines(function) for function in functions(tree)}
    assert {n: size for n, size in sizes.items() if size > REFERENCE_LINES} == {}
    for node in public(tree).values():
        assert ast.get_docstring(node), f"{node.name} has no docstring"


@each_kata()
def test_sheet_has_its_sections(kata: Kata) -> None:
    """In order: questions with answers, hints, the twist, follow-ups with answers."""
    parts = sections(kata.sheet.read_text(encoding="utf-8"))

    assert list(parts) == SHEET_SECTIONS
    assert all(parts.values())
    clarifying = sections(parts["If they ask"], "###")
    follow_ups = sections(parts["Then ask"], "###")
    assert len(clarifying) >= 6
    assert len(follow_ups) >= 4
    unanswered = [q for q, a in {**clarifying, **follow_ups}.items() if not a]
    assert unanswered == []
    assert len(numbered(parts["Hints"])) >= 3


@each_kata()
def test_checks_read_as_claims(kata: Kata) -> None:
    """Plain functions named for what holds, with one line that says it, and short."""
    tree = parse(kata.checks)
    checks = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    checks = [node for node in checks if node.name.startswith("test_")]

    assert checks
    assert not any(isinstance(node, ast.ClassDef) for node in tree.body)
    for check in checks:
        words = check.name.removeprefix("test_").split("_")
        docstring = ast.get_docstring(check)
        decorators = " ".join(map(ast.unparse, check.decorator_list))
        assert len(words) in CHECK_WORDS, f"{check.name}: {len(words)} words"
        assert docstring, f"{check.name} has no docstring"
        assert "\n" not in docstring, f"{check.name}: a docstring of several lines"
        assert "parametrize" not in decorators, check.name
        first = min(node.lineno for node in (check, *check.decorator_list))
        assert check.end_lineno - first < CHECK_LINES, f"{check.name} is too long"


@each_kata()
def test_mistakes_hold_what_the_contract_names(kata: Kata) -> None:
    """Every mistake of the contract, once, and enough right code that looks unusual."""
    entries = mistakes_of(kata.name)
    ids = [entry.id for entry in entries]

    assert len(ids) == len(set(ids))
    missing = set(MISTAKES.get(kata.name, "").split())
    missing -= {entry.id for entry in entries if not entry.is_fair}
    assert missing == set()
    assert sum(entry.is_fair for entry in entries) >= FAIR_VARIATIONS
    assert all(entry.says for entry in entries)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in ids)
