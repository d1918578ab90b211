"""The worlds in which mistakes in `checkpoint` are told apart."""

from __future__ import annotations

from checks.recorded import checkpoint_loading as loading
from checks.recorded import checkpoint_saving as saving

WORLDS = {
    "saving": saving.whole,
    "saving, numbers": saving.numbers,
    "saving over an old file": saving.over_an_old_file,
    "a save that fails": saving.failing,
    "saving, paths": saving.paths,
    "loading": loading.whole,
    "loading, other objects": loading.other_objects,
    "loading, numbers": loading.numbers,
    "a state is missing": loading.missing,
    "a state does not fit": loading.misfits,
    "asked for less": loading.asked_for_less,
    "files": loading.files,
    "surroundings": loading.surroundings,
}
