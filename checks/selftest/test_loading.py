"""A file becomes a module, or the candidate is told in what way it is not ready."""

from __future__ import annotations

import linecache
import sys

import pytest

from checks.harness import loading

STUB = '''"""A kata."""


def weigh(sizes: list[int]) -> float:
    """Weigh them."""
    # TODO: write it.
    raise NotImplementedError


def _helper(): ...
'''


EMPTY = (
    "solution.py is empty\n"
    "Next: start from the stub (stub.py, beside the kata's README.md)."
)


def refusal(tmp_path, content, stub=STUB):
    """Load `content`, and return what is said against it."""
    path = tmp_path / "solution.py"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(loading.NotReady) as caught:
        loading.load(path, stub)
    return str(caught.value)


NOT_READY = {
    "empty": (
        "",
        EMPTY,
    ),
    "only-comments": (
        "# later\n",
        EMPTY,
    ),
    "only-a-docstring": (
        '"""Later."""\n',
        EMPTY,
    ),
    "stub": (
        STUB,
        "solution.py is still the stub\nNext: write `weigh`, then run this again.",
    ),
    "stub-other-comments": (
        STUB.replace("# TODO: write it.", "# I shall.").replace(
            '"""Weigh them."""', '"""Soon."""'
        ),
        "solution.py is still the stub\nNext: write `weigh`, then run this again.",
    ),
    "syntax-error": (
        "def weigh(sizes):\n    return (1\n",
        "SyntaxError: '(' was never closed\n  solution.py line 2: return (1\n"
        "Next: mend that line; nothing of the file can run before.",
    ),
    "tabs-and-spaces": (
        "def weigh(sizes):\n        x = 1\n\ty = 2\n",
        "TabError: inconsistent use of tabs and spaces in indentation\n"
        "  solution.py line 3: y = 2\n"
        "Next: mend that line; nothing of the file can run before.",
    ),
    "not-utf-8": (
        b"# one\n# caf\xe9\n",
        "solution.py is not UTF-8: byte 0xe9 in line 2\n"
        "Next: save the file with the encoding UTF-8.",
    ),
    "missing-name": (
        "def wiegh(sizes): ...\n",
        "solution.py does not define `weigh`; it does define `wiegh`\n"
        "Next: define it with the signature that the stub gives.",
    ),
    "missing-name-nothing-near": (
        "x = 1\n",
        "solution.py does not define `weigh`\n"
        "Next: define it with the signature that the stub gives.",
    ),
    "no-function": (
        "weigh = 3\n",
        "`weigh` in solution.py is no function but int\n"
        "Next: define `def weigh(...)` as in the stub, and keep its name.",
    ),
    "import-error": (
        "import os\nimport no_such_thing\n",
        "importing solution.py raised ModuleNotFoundError: "
        "No module named 'no_such_thing'\n"
        "  solution.py line 2: import no_such_thing\n"
        "Next: mend that line; no check runs before the file can be imported.",
    ),
    "raises-in-a-helper": (
        "def helper():\n    return [][1]\n\n\nhelper()\n",
        "importing solution.py raised IndexError: list index out of range\n"
        "  solution.py line 2: return [][1]\n"
        "Next: mend that line; no check runs before the file can be imported.",
    ),
    "system-exit": (
        "raise SystemExit\n",
        "importing solution.py raised SystemExit\n"
        "  solution.py line 1: raise SystemExit\n"
        'Next: move what is to run by itself under `if __name__ == "__main__":`.',
    ),
}


@pytest.mark.parametrize("case", NOT_READY)
def test_what_is_not_ready_is_told(tmp_path, case):
    """What, where, and what to do next."""
    content, said = NOT_READY[case]

    assert refusal(tmp_path, content) == said


def test_null_bytes_are_not_python(tmp_path):
    """Python's own words for them differ between versions."""
    said = refusal(tmp_path, b"x = 1\x00\n")

    assert "null bytes" in said
    assert "line None" not in said


def test_nesting_beyond_the_parser_is_not_python(tmp_path):
    """The parser gives up in one of several ways, by the version of Python."""
    said = refusal(tmp_path, "x = " + "-" * 100_000 + "1\n")

    assert said.startswith("solution.py is not Python: ")


@pytest.mark.parametrize(
    "text",
    [
        "def weigh(sizes):\n    return 1.0\n",
        "weigh = lambda sizes: 1.0\n",
        "class weigh:\n    pass\n",
        "from operator import add as weigh\n",
        "\ufeffdef weigh(sizes):\n    return 1.0\n",
        "def weigh(sizes):\r\n    return 1.0\r\n",
        "def weigh(sizes):\n    raise NotImplementedError('half way')\n",
    ],
)
def test_what_defines_the_name_is_loaded(tmp_path, text):
    """It need not be a `def`; a BOM and Windows line ends do no harm."""
    path = tmp_path / "solution.py"
    path.write_bytes(text.encode())

    module = loading.load(path, STUB)

    assert callable(module.weigh)
    assert module.__name__ == "solution"
    assert module.__file__ == str(path)
    assert sys.modules["solution"] is module


def test_a_script_below_main_does_not_run(tmp_path):
    """`__name__` is not `__main__`."""
    path = tmp_path / "solution.py"
    path.write_text('def weigh(s): ...\nif __name__ == "__main__":\n    1 / 0\n')

    loading.load(path, STUB)


def test_lines_can_be_quoted_when_the_file_is_gone(tmp_path):
    """A candidate's code may delete its own file."""
    path = tmp_path / "solution.py"
    path.write_text("def weigh(s):\n    return 1.0\n")
    loading.load(path)
    path.unlink()
    linecache.checkcache()

    assert linecache.getline(str(path), 2) == "    return 1.0\n"


def test_no_stale_bytecode_answers_for_a_changed_file(tmp_path):
    """Two texts of the same length, written within the same second, are two modules."""
    path = tmp_path / "solution.py"
    path.write_text("weigh = abs\nx = 1\n")
    first = loading.load(path).x
    path.write_text("weigh = abs\nx = 2\n")

    assert (first, loading.load(path).x) == (1, 2)


def test_names_to_define_are_the_public_ones():
    """Helpers that start with an underscore are the stub's own business."""
    assert loading.names_of(STUB) == ["weigh"]


def test_one_changed_line_is_no_longer_the_stub():
    """Only layout, comments and docstrings may differ for a file to be the stub."""
    changed = loading.parse(STUB.replace("raise NotImplementedError", "return 0.0"))

    assert not loading.is_untouched(changed, STUB)
