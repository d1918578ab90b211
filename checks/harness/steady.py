"""Keep Hypothesis from drawing numbers out of the candidate's file.

Since 6.131 it collects the constants of all local modules that are imported and mixes
them into what it draws. So the same check would try other examples for another file,
for a file in another folder, and after another module of ours has been imported.
"""

from __future__ import annotations

from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants


def draw_from_strategies_alone() -> None:
    """Take the pool of local constants as empty, from here on."""
    if hasattr(providers, "_get_local_constants"):
        nothing = Constants()
        providers._get_local_constants = lambda: nothing
