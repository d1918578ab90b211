"""What the reference and the known mistakes of a kata do, worked out once and kept.

Running some eighty short programs takes seconds, so the result is kept under
`.practice/cache`, keyed by everything that it depends on.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from checks.harness import catalogue, loading
from checks.harness.diagnosis import Form, Study, departures, diagnose, evidence
from checks.mistakes import mistakes_of, reference_of
from checks.recorded import Record

CACHE = catalogue.ROOT / ".practice" / "cache"
REFERENCE = "the reference"
LONGEST = 300  # seconds that the work may take; it takes about five


def has_worlds(kata: catalogue.Kata) -> bool:
    """Whether the mistakes of this kata can be told apart by recorded worlds."""
    worlds = catalogue.ROOT / "checks" / "recorded" / f"{kata.name}.py"
    return kata.root == catalogue.ROOT and worlds.exists()


def name_mistakes(name: str, record: Record) -> dict[str, str]:
    """Name the mistakes that a record shows: a sentence for each, by id."""
    study = study_of(name)
    says = {mistake.id: mistake.says for mistake in mistakes_of(name)}
    return {
        id: f"{says[id]} ({evidence(record, study, id)}.)"
        for id in diagnose(record, study)
    }


@lru_cache
def study_of(name: str) -> Study:
    """Return the study of one kata: from the cache, or by running its mistakes."""
    kept = CACHE / f"study-{name}-{_key(name)}.json"
    try:
        records = json.loads(kept.read_text("utf-8"))
    except (OSError, ValueError):
        records = _work_out(name)
        _keep(kept, records, name)
    return study_from(name, records)


def study_from(name: str, records: Mapping[str, Record]) -> Study:
    """Turn records by label into a study: each mistake's departures from the rest."""
    right = records[REFERENCE]
    forms = [
        Form(mistake.id, departures(records[label], right))
        for mistake in mistakes_of(name)
        if not mistake.is_fair
        for label, _ in mistake.texts(reference_of(name))
    ]
    return Study(right, tuple(forms))


def records_of(name: str, texts: Mapping[str, str]) -> dict[str, Record]:
    """Run each text in the recorded worlds, in this process."""
    from checks.recorded import record

    records = {}
    with tempfile.TemporaryDirectory(prefix="kata-") as folder:
        for number, (label, text) in enumerate(texts.items()):
            path = Path(folder) / str(number) / f"{loading.NAME}.py"
            path.parent.mkdir()
            path.write_text(text, encoding="utf-8")
            records[label] = record(name, loading.load(path))
    return records


def texts_of(name: str) -> dict[str, str]:
    """Return the reference and all forms of all known mistakes, by label."""
    reference = reference_of(name)
    texts = {REFERENCE: reference}
    for mistake in mistakes_of(name):
        if not mistake.is_fair:
            texts.update(mistake.texts(reference))
    return texts


def _work_out(name: str) -> dict[str, Record]:
    """Run the mistakes in a process of their own: they change settings of torch."""
    with tempfile.TemporaryDirectory(prefix="kata-") as folder:
        result = Path(folder) / "records.json"
        subprocess.run(
            [sys.executable, "-Wignore", "-m", "checks.harness.study", name, result],
            cwd=catalogue.ROOT,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=LONGEST,
        )
        records: dict[str, Record] = json.loads(result.read_text("utf-8"))
    return records


def _keep(path: Path, records: Mapping[str, Record], name: str) -> None:
    """Keep the records, in place of those of an earlier state of the project."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in path.parent.glob(f"study-{name}-*.json"):
            old.unlink(missing_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(records), encoding="utf-8")
        temporary.replace(path)
    except OSError:  # a read-only folder: it is worked out again next time
        return


def _key(name: str) -> str:
    """Hash all that a study depends on."""
    digest = hashlib.sha256(f"{sys.version} {version('torch')}".encode())
    checks = catalogue.ROOT / "checks"
    shared = [p for p in checks.glob("*.py") if not p.name.startswith("test_")]
    for path in sorted([*shared, *(checks / "recorded").glob("*.py")]):
        digest.update(path.read_bytes())
    digest.update(Path(str(sys.modules[mistakes_of.__module__].__file__)).read_bytes())
    digest.update((checks / "mistakes" / f"{name}.py").read_bytes())
    digest.update(reference_of(name).encode())
    return digest.hexdigest()[:16]


def main() -> None:
    """Write the records of the kata `argv[1]` to the file `argv[2]`."""
    import torch

    torch.set_num_threads(1)
    name, result = sys.argv[1:]
    records = records_of(name, texts_of(name))
    Path(result).write_text(json.dumps(records), encoding="utf-8")


if __name__ == "__main__":
    main()
