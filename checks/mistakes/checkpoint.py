"""What people get wrong in `checkpoint`, and unusual code that is right."""

from checks.mistakes import Mistake

START = (
    '    checkpoint: dict[str, Any] = {"epoch": epoch, "best_metric": best_metric}\n'
)
AS_PATH = "    path = Path(path)\n"
COLLECT = (
    "    for key, part in _parts(model, optimizer, scheduler, scaler).items():\n"
    "        checkpoint[key] = part.state_dict()\n"
)
PARENTS = "    path.parent.mkdir(parents=True, exist_ok=True)\n"
WHERE = (
    "    # Beside the target: only within one file system is a rename a single step.\n"
    '    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")\n'
)
WRITE = "        torch.save(checkpoint, temporary)\n"
REPLACE = "        os.replace(temporary, path)\n"
CLEAN = (
    "    finally:\n"
    "        temporary.unlink(missing_ok=True)  # gone already when all went well\n"
)
WRITE_ALL = WHERE + "    try:\n" + WRITE + REPLACE + CLEAN

READ = (
    "    checkpoint = torch.load(path, map_location=map_location, weights_only=True)\n"
)
MISSING = (
    "    for key in parts:\n"
    "        if key not in checkpoint:\n"
    '            raise KeyError(f"{os.fspath(path)} holds no {key}")\n'
)
BEFORE = (
    "    # state_dict() shares memory with the model: without the copy nothing is kept.\n"
    "    before = {key: copy.deepcopy(part.state_dict()) "
    "for key, part in parts.items()}\n"
)
SET = (
    "        for key, part in parts.items():\n"
    "            part.load_state_dict(checkpoint[key])\n"
)
UNDO = (
    "    except BaseException:\n"
    "        for key, part in parts.items():\n"
    "            part.load_state_dict(before[key])\n"
    "        raise\n"
)
SET_ALL = BEFORE + "    try:\n" + SET + UNDO
RETURN = (
    '    return {"epoch": checkpoint["epoch"], '
    '"best_metric": checkpoint["best_metric"]}\n'
)
SCALER_KEY = '        "grad_scaler_state_dict": scaler,\n'
SCHEDULER_KEY = '        "scheduler_state_dict": scheduler,\n'
OPTIMIZER_KEY = '        "optimizer_state_dict": optimizer,\n'
MODEL_KEY = '        "model_state_dict": model,\n'

MISTAKES = (
    Mistake(
        id="no-optimizer-state",
        says="You leave the optimizer's state out of the file: momentum and Adam's "
        "moments start from zero after a resume, and nothing tells. Look at what the "
        "file holds.",
        edits=((COLLECT, COLLECT + '    checkpoint.pop("optimizer_state_dict")\n'),),
        caught_by={"file_holds_the_named_keys"},
        source="LibreYOLO/libreyolo#277",
        forms=(
            ((COLLECT, COLLECT.replace("optimizer,", "None,")),),
            (
                (
                    COLLECT,
                    COLLECT + '    checkpoint["optimizer"] = '
                    'checkpoint.pop("optimizer_state_dict")\n',
                ),
            ),
        ),
    ),
    Mistake(
        id="optimizer-state-emptied",
        says="You save the optimizer's learning rates without its moments. Look at what "
        "state_dict() of an optimizer is made of.",
        edits=(
            (
                COLLECT,
                COLLECT + '    groups = optimizer.state_dict()["param_groups"]\n'
                '    slim = {"state": {}, "param_groups": groups}\n'
                '    checkpoint["optimizer_state_dict"] = slim\n',
            ),
        ),
        caught_by={"file_holds_every_state_whole", "momentum_carries_on_by_1_9"},
        forms=(
            (
                (
                    COLLECT,
                    COLLECT + '    checkpoint["optimizer_state_dict"] = '
                    "type(optimizer)(\n"
                    "        [p for g in optimizer.param_groups for p in g['params']],\n"
                    "        lr=optimizer.param_groups[0]['lr'],\n"
                    "        **({'momentum': 0.9} if 'momentum' in "
                    "optimizer.defaults else {}),\n"
                    "    ).state_dict()\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="no-scheduler-state",
        says="You leave the scheduler's state out of the file: after a resume the "
        "schedule starts again. Look at what the file holds.",
        edits=(
            (
                COLLECT,
                COLLECT + '    checkpoint.pop("scheduler_state_dict", None)\n',
            ),
        ),
        caught_by={"file_holds_the_named_keys"},
        source="PolymathicAI/the_well#63",
        forms=(((COLLECT, COLLECT.replace("scheduler,", "None,")),),),
    ),
    Mistake(
        id="no-scaler-state",
        says="You leave the GradScaler's state out of the file: the scale starts anew, "
        "and the first steps may overflow. Look at what the file holds.",
        edits=((COLLECT, COLLECT.replace("scaler)", "None)")),),
        caught_by={"file_holds_the_named_keys"},
    ),
    Mistake(
        id="optimizer-not-loaded",
        says="You do not load the optimizer's state. Look at which objects are set.",
        edits=(
            (
                SET,
                SET.replace(
                    "            part.",
                    "            if part is not optimizer:\n                part.",
                ),
            ),
        ),
        caught_by={"loading_restores_every_object", "momentum_carries_on_by_1_9"},
        source="NVIDIA-NeMo/Automodel#763",
    ),
    Mistake(
        id="scheduler-not-loaded",
        says="You do not load the scheduler's state: its schedule starts again. Look at "
        "which objects are set.",
        edits=(
            (
                SET,
                SET.replace(
                    "            part.",
                    "            if part is not scheduler:\n                part.",
                ),
            ),
        ),
        caught_by={"loading_restores_every_object"},
        source="allenai/allennlp#1650",
        forms=(
            # only the position is taken over
            (
                (
                    SET,
                    SET.replace(
                        "            part.load_state_dict(checkpoint[key])",
                        "            if part is scheduler:\n"
                        "                part.last_epoch = checkpoint['epoch']\n"
                        "            else:\n"
                        "                part.load_state_dict(checkpoint[key])",
                    ),
                ),
            ),
        ),
    ),
    Mistake(
        id="scaler-not-loaded",
        says="You do not load the GradScaler's state. Look at which objects are set.",
        edits=(
            (
                SET,
                SET.replace(
                    "            part.",
                    "            if part is not scaler:\n                part.",
                ),
            ),
        ),
        caught_by={"loading_restores_every_object"},
    ),
    Mistake(
        id="scheduler-set-by-dict",
        says="You write the scheduler's attributes yourself: a LambdaLR's functions are "
        "not in its state, and you put None in their place. Look at how the scheduler "
        "is set.",
        edits=(
            (
                SET,
                SET.replace(
                    "            part.load_state_dict(checkpoint[key])",
                    "            if part is scheduler:\n"
                    "                vars(part).update(checkpoint[key])\n"
                    "            else:\n"
                    "                part.load_state_dict(checkpoint[key])",
                ),
            ),
        ),
        caught_by={"loading_restores_every_object"},
    ),
    Mistake(
        id="optimizer-state-under-numbers",
        says="You write the optimizer's state under the numbers that the file uses: the "
        "optimizer looks it up by parameter and finds none, so momentum starts from "
        "zero. Look at how the optimizer is set.",
        edits=(
            (
                SET,
                SET.replace(
                    "            part.load_state_dict(checkpoint[key])\n",
                    "            part.load_state_dict(checkpoint[key])\n"
                    "            if part is optimizer:\n"
                    "                part.state.clear()\n"
                    "                part.state.update(checkpoint[key]['state'])\n",
                ),
            ),
        ),
        caught_by={"training_goes_on_bit_for_bit", "momentum_carries_on_by_1_9"},
    ),
    Mistake(
        id="learning-rate-reset",
        says="You put the optimizer's first learning rate back after loading: the "
        "schedule's is in its state. Look at what you change after load_state_dict.",
        edits=(
            (
                RETURN,
                "    for group in optimizer.param_groups if optimizer else ():\n"
                '        group["lr"] = optimizer.defaults["lr"]\n' + RETURN,
            ),
        ),
        caught_by={"loading_restores_every_object"},
    ),
    Mistake(
        id="saves-whole-model",
        says="You save the model and not its state: only weights_only=False reads such "
        "a file, and it breaks when the class moves. Look at what goes into the dict.",
        edits=(
            (
                COLLECT,
                COLLECT + '    checkpoint["model_state_dict"] = model\n',
            ),
            (", weights_only=True", ", weights_only=False"),
            (
                "part.load_state_dict(checkpoint[key])",
                "part.load_state_dict(getattr(checkpoint[key], 'state_dict', "
                "lambda: checkpoint[key])())",
            ),
        ),
        caught_by={"file_is_read_with_weights_only"},
        forms=(
            # read back with weights_only=True: one's own files are then refused
            ((COLLECT, COLLECT + '    checkpoint["model_state_dict"] = model\n'),),
            ((COLLECT, COLLECT + '    checkpoint["optimizer"] = optimizer\n'),),
            ((COLLECT, COLLECT + '    checkpoint["path"] = path\n'),),
        ),
    ),
    Mistake(
        id="saves-numpy",
        says="You save a NumPy number or array: weights_only=True refuses it. Look at "
        "the types in the dict.",
        edits=(
            ("import torch\n", "import numpy as np\nimport torch\n"),
            (START, START.replace("best_metric}", "np.float64(best_metric)}")),
        ),
        caught_by={"file_is_read_with_weights_only"},
        source="huggingface/transformers#34631",
        forms=(
            (
                ("import torch\n", "import numpy as np\nimport torch\n"),
                (
                    START,
                    START + '    checkpoint["numpy_rng"] = np.random.get_state()\n',
                ),
            ),
        ),
    ),
    Mistake(
        id="pickles-the-dict",
        says="You write the file with pickle: torch.load(weights_only=True) does not "
        "read tensors from it. Look at what writes the file.",
        edits=(
            ("import os\n", "import os\nimport pickle\n"),
            (
                WRITE,
                "        temporary.write_bytes(pickle.dumps(checkpoint))\n",
            ),
        ),
        caught_by={"file_is_read_with_weights_only"},
    ),
    Mistake(
        id="weights-only-false",
        says="You read the file with weights_only=False: whoever can change it runs "
        "code on this machine. Look at how the file is read.",
        edits=(("weights_only=True", "weights_only=False"),),
        caught_by={"never_runs_code_from_the_file"},
        source="huggingface/transformers#43140",
        forms=(
            (
                (
                    READ,
                    "    try:\n    "
                    + READ
                    + "    except Exception:\n    "
                    + READ.replace("True", "False"),
                ),
            ),
        ),
    ),
    Mistake(
        id="non-atomic-write",
        says="You write straight to the path: a save that is cut short has destroyed "
        "the last good file. Look at which file is open while you write.",
        edits=((WRITE_ALL, "    torch.save(checkpoint, path)\n"),),
        caught_by={"a_failed_save_keeps_the_old_file"},
        source="Lightning-AI/pytorch-lightning#688",
        forms=(
            # the temporary file is renamed, but the wrong one is tidied up
            (
                (
                    CLEAN,
                    "    except Exception:\n        path.unlink(missing_ok=True)\n"
                    "        raise\n" + CLEAN,
                ),
            ),
            # the old one is moved out of the way first
            (
                (
                    WRITE,
                    "        if path.exists():\n"
                    "            os.replace(path, path.with_suffix('.old'))\n" + WRITE,
                ),
            ),
            (
                (
                    WRITE_ALL,
                    '    with open(path, "wb") as file:\n'
                    "        torch.save(checkpoint, file)\n",
                ),
            ),
            # removed when it fails: the old one is gone all the same
            (
                (
                    WRITE_ALL,
                    "    try:\n        torch.save(checkpoint, path)\n"
                    "    except Exception:\n        path.unlink(missing_ok=True)\n"
                    "        raise\n",
                ),
            ),
            # a temporary file, after the old one was removed
            (
                (
                    WRITE_ALL,
                    "    path.unlink(missing_ok=True)\n" + WRITE_ALL,
                ),
            ),
            # the file is made empty first
            ((WHERE, "    path.touch()\n" + WHERE),),
        ),
    ),
    Mistake(
        id="overwrites-in-place",
        says="You overwrite the old file with bytes that are complete: writing them "
        "takes time, and a process that is killed meanwhile has lost both. Look at "
        "what puts the new file in place.",
        edits=(
            ("import os\n", "import io\nimport os\n"),
            (
                WRITE_ALL,
                "    buffer = io.BytesIO()\n"
                "    torch.save(checkpoint, buffer)\n"
                "    path.write_bytes(buffer.getvalue())\n",
            ),
        ),
        caught_by={"path_always_holds_a_whole_file"},
        source="petuum/adaptdl#70",
        forms=(
            (
                ("import os\n", "import os\nimport shutil\n"),
                (REPLACE, "        shutil.copyfile(temporary, path)\n"),
            ),
            (
                (
                    REPLACE,
                    '        with open(path, "r+b" if path.exists() else "wb") as file:\n'
                    "            file.write(temporary.read_bytes())\n"
                    "            file.truncate()\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="removes-then-renames",
        says="You remove the old file before the new one takes its name: between the two "
        "there is no file. Look at what os.replace does by itself.",
        edits=(
            (
                REPLACE,
                "        if path.exists():\n            path.unlink()\n"
                "        os.rename(temporary, path)\n",
            ),
        ),
        caught_by={"path_always_holds_a_whole_file"},
    ),
    Mistake(
        id="backs-up-and-restores",
        says="You move the old file away, or keep its bytes, and put it back when saving "
        "raises: a process that is killed puts nothing back. Look at what lies at the "
        "path meanwhile.",
        edits=(
            (
                WRITE_ALL,
                '    backup = path.with_name(path.name + ".bak")\n'
                "    if path.exists():\n        os.replace(path, backup)\n"
                "    try:\n        torch.save(checkpoint, path)\n"
                "    except BaseException:\n"
                "        path.unlink(missing_ok=True)\n"
                "        if backup.exists():\n            os.replace(backup, path)\n"
                "        raise\n"
                "    backup.unlink(missing_ok=True)\n",
            ),
        ),
        caught_by={"path_always_holds_a_whole_file"},
        forms=(
            (
                (
                    WRITE_ALL,
                    "    old = path.read_bytes() if path.exists() else None\n"
                    "    try:\n        torch.save(checkpoint, path)\n"
                    "    except BaseException:\n"
                    "        path.unlink(missing_ok=True)\n"
                    "        if old is not None:\n            path.write_bytes(old)\n"
                    "        raise\n",
                ),
            ),
            (
                (
                    REPLACE,
                    "        aside = path.with_suffix('.old')\n"
                    "        if path.exists():\n            os.rename(path, aside)\n"
                    "        os.rename(temporary, path)\n"
                    "        aside.unlink(missing_ok=True)\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="temp-on-other-filesystem",
        says="Your temporary file lies in another folder, maybe on another file system: "
        "there a rename fails, or is a copy. Look at where it is made.",
        edits=(
            ("import os\n", "import os\nimport shutil\nimport tempfile\n"),
            (WHERE, "    temporary = Path(tempfile.mkstemp()[1])\n"),
            (REPLACE, "        shutil.move(temporary, path)\n"),
        ),
        caught_by={"temporary_file_lies_beside_the_target"},
        source="pytorch/pytorch#2883",
        forms=(
            (
                ("import os\n", "import os\nimport tempfile\n"),
                (
                    WHERE,
                    "    temporary = Path(tempfile.gettempdir()) / "
                    'f"{path.name}.{os.getpid()}"\n',
                ),
            ),
            ((WHERE, '    temporary = Path(f"{path.name}.tmp")\n'),),
            ((WHERE, '    temporary = path.parent.parent / f"{path.name}.tmp"\n'),),
        ),
    ),
    Mistake(
        id="leaves-temp-file",
        says="You leave a file behind that nobody asked for: a full disk, after some "
        "weeks. Look at what remains, also when saving raises.",
        edits=(
            (
                "    try:\n" + WRITE + REPLACE + CLEAN,
                (WRITE + REPLACE).replace("        ", "    "),
            ),
        ),
        caught_by={"leaves_no_other_file"},
        source="howervoo/speechturn#15",
        forms=(
            # linked, and the temporary name stays
            ((CLEAN, CLEAN.replace("temporary.unlink(missing_ok=True)", "pass")),),
            # tidied up only when all went well
            (
                (
                    "    try:\n" + WRITE + REPLACE + CLEAN,
                    "    torch.save(checkpoint, temporary)\n"
                    "    os.replace(temporary, path)\n"
                    "    temporary.unlink(missing_ok=True)\n",
                ),
            ),
            # a folder of its own, kept
            (
                (
                    WHERE,
                    '    staging = path.parent / ".staging"\n'
                    "    staging.mkdir(exist_ok=True)\n"
                    "    temporary = staging / path.name\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="keeps-a-backup",
        says="You keep a copy of the old file beside the new one, or a note on which is "
        "the latest: nobody asked for it. Look at what the folder holds afterwards.",
        edits=(
            ("import os\n", "import os\nimport shutil\n"),
            (
                REPLACE,
                "        if path.exists():\n"
                "            shutil.copy(path, path.with_name(path.name + '.bak'))\n"
                + REPLACE,
            ),
        ),
        caught_by={"leaves_no_other_file"},
        forms=(
            (
                (
                    REPLACE,
                    REPLACE
                    + "        path.with_name('latest').write_text(path.name)\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="changes-the-file-name",
        says="You give the file another suffix than the caller did. Look at where the "
        "path goes through.",
        edits=((AS_PATH, AS_PATH.replace(")", ').with_suffix(".pt")')),),
        caught_by={"leaves_no_other_file"},
    ),
    Mistake(
        id="swallows-save-error",
        says="You swallow the error of a failed save: the run goes on for days without "
        "a checkpoint. Look at your except.",
        edits=(
            (
                CLEAN,
                "    except Exception as error:\n"
                '        print(f"could not save: {error}")\n' + CLEAN,
            ),
        ),
        caught_by={"a_failed_save_keeps_the_old_file"},
    ),
    Mistake(
        id="missing-state-ignored",
        says="You pass over a state that was asked for and is not in the file: the run "
        "goes on without it and nothing tells. Look at what happens when a key is "
        "missing.",
        edits=(
            (MISSING, ""),
            (
                SET,
                SET.replace(
                    "        for key, part in parts.items():\n",
                    (
                        "        for key, part in parts.items():\n"
                        "            if key not in checkpoint:\n"
                        "                continue\n"
                    ),
                ),
            ),
        ),
        caught_by={"a_missing_state_is_a_key_error"},
        source="PolymathicAI/the_well#63",
        forms=(
            (
                (
                    MISSING,
                    "    parts = {k: p for k, p in parts.items() if k in checkpoint}\n",
                ),
            ),
            (
                (
                    MISSING,
                    "    import warnings\n"
                    "    for key in [key for key in parts if key not in checkpoint]:\n"
                    "        warnings.warn(f'no {key}')\n"
                    "        del parts[key]\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="missing-state-found-late",
        says="You find out that a state is missing when others are loaded already. Look "
        "at what has changed when the KeyError comes.",
        edits=(
            (MISSING, ""),
            ("    except BaseException:\n", "    except (RuntimeError, ValueError):\n"),
        ),
        caught_by={"a_missing_state_is_a_key_error"},
    ),
    Mistake(
        id="key-error-without-key",
        says="Your error for a missing state does not name the file's key, or is no "
        "KeyError. Look at what it says.",
        edits=(
            (
                'raise KeyError(f"{os.fspath(path)} holds no {key}")',
                "raise KeyError(type(parts[key]).__name__)",
            ),
        ),
        caught_by={"a_missing_state_is_a_key_error"},
        forms=(
            (("raise KeyError(", "raise ValueError("),),
            (
                (
                    MISSING,
                    "    assert all(key in checkpoint for key in parts), list(parts)\n",
                ),
            ),
            (
                (
                    MISSING,
                    "    if parts.keys() - checkpoint.keys():\n"
                    '        raise KeyError("a state is missing")\n',
                ),
            ),
        ),
    ),
    Mistake(
        id="partial-load",
        says="You load one state after the other and do not put back what is loaded "
        "when a later one does not fit: half old, half new. Look at what has changed "
        "when load_state_dict raises.",
        edits=(
            (
                SET_ALL,
                "    for key, part in parts.items():\n"
                "        part.load_state_dict(checkpoint[key])\n",
            ),
        ),
        caught_by={
            "a_model_that_does_not_fit_is_refused",
            "another_state_that_does_not_fit_raises",
        },
        forms=(
            # the attributes of copies are put in place of the objects' own
            (
                (BEFORE, "    before = copy.deepcopy(parts)\n"),
                (
                    UNDO,
                    UNDO.replace(
                        "part.load_state_dict(before[key])",
                        "vars(part).update(vars(before[key]))",
                    ),
                ),
            ),
            # names are bound to the copies, and the caller's objects stay
            (
                (BEFORE, "    before = copy.deepcopy(parts)\n"),
                (
                    UNDO,
                    UNDO.replace(
                        "part.load_state_dict(before[key])", "parts[key] = before[key]"
                    ).replace("parts.items()", "list(parts.items())"),
                ),
            ),
            # what is put back shares its memory with the model
            (
                (
                    BEFORE,
                    BEFORE.replace(
                        "copy.deepcopy(part.state_dict())", "part.state_dict()"
                    ),
                ),
            ),
            (
                (
                    BEFORE,
                    BEFORE.replace(
                        "copy.deepcopy(part.state_dict())", "dict(part.state_dict())"
                    ),
                ),
            ),
            # only what was loaded whole is put back
            (
                (SET, "        done = []\n" + SET + "            done.append(key)\n"),
                (
                    UNDO,
                    UNDO.replace(
                        "for key, part in parts.items():",
                        "for key, part in [(k, parts[k]) for k in done]:",
                    ),
                ),
            ),
        ),
    ),
    Mistake(
        id="puts-the-model-back-alone",
        says="You put the model back and leave the optimizer or the scheduler as far as "
        "it was loaded. Look at everything that a failed load has touched.",
        edits=(
            (
                UNDO,
                "    except BaseException:\n"
                '        model.load_state_dict(before["model_state_dict"])\n'
                "        raise\n",
            ),
        ),
        caught_by={"another_state_that_does_not_fit_raises"},
        forms=(
            # all but the one that raised, which has changed in part
            (
                (
                    UNDO,
                    UNDO.replace(
                        "        for key, part in parts.items():\n",
                        "        failed = key\n"
                        "        for key, part in parts.items():\n"
                        "            if key == failed != 'model_state_dict':\n"
                        "                continue\n",
                    ),
                ),
            ),
            # the model is tried on a copy, the others are not
            (
                (
                    SET_ALL,
                    "    copy.deepcopy(model).load_state_dict("
                    'checkpoint["model_state_dict"])\n'
                    "    for key, part in parts.items():\n"
                    "        part.load_state_dict(checkpoint[key])\n",
                ),
            ),
            # names and shapes are compared, the others are loaded one by one
            (
                (
                    SET_ALL,
                    "    mine = {n: t.shape for n, t in model.state_dict().items()}\n"
                    "    state = checkpoint['model_state_dict']\n"
                    "    if mine != {n: t.shape for n, t in state.items()}:\n"
                    "        raise RuntimeError('the model does not fit')\n"
                    "    for key, part in reversed(parts.items()):\n"
                    "        part.load_state_dict(checkpoint[key])\n",
                ),
            ),
            # without the scheduler
            (
                (
                    UNDO,
                    UNDO.replace(
                        "            part.",
                        "            if part is not scheduler:\n                part.",
                    ),
                ),
            ),
        ),
    ),
    Mistake(
        id="puts-parameters-back-alone",
        says="You put the parameters back and leave the buffers, BatchNorm's statistics, "
        "as the failed load left them. Look at what a state_dict() holds besides "
        "parameters.",
        edits=(
            (
                BEFORE,
                BEFORE
                + "    weights = {n: p.clone() for n, p in model.named_parameters()}\n",
            ),
            (
                UNDO,
                UNDO.replace(
                    "            part.load_state_dict(before[key])\n",
                    "            if part is not model:\n"
                    "                part.load_state_dict(before[key])\n"
                    "        with torch.no_grad():\n"
                    "            for name, parameter in model.named_parameters():\n"
                    "                parameter.copy_(weights[name])\n",
                ),
            ),
        ),
        caught_by={"loading_is_all_or_nothing"},
    ),
    Mistake(
        id="strict-false",
        says="You load the model with strict=False: names that do not match are left "
        "out and nothing tells. Look at what decides whether a model fits.",
        edits=(
            (
                SET,
                SET.replace(
                    "part.load_state_dict(checkpoint[key])",
                    "part.load_state_dict(checkpoint[key], "
                    "**({'strict': False} if part is model else {}))",
                ),
            ),
        ),
        caught_by={"a_model_that_does_not_fit_is_refused"},
        source="NVIDIA/apex#647",
        forms=(
            # strict first, and then not
            (
                (
                    SET,
                    SET.replace(
                        "            part.load_state_dict(checkpoint[key])\n",
                        "            try:\n"
                        "                part.load_state_dict(checkpoint[key])\n"
                        "            except RuntimeError:\n"
                        "                if part is not model:\n"
                        "                    raise\n"
                        "                model.load_state_dict("
                        "checkpoint[key], strict=False)\n",
                    ),
                ),
            ),
            # only what fits, in name and shape
            (
                (
                    BEFORE,
                    "    mine = model.state_dict()\n"
                    "    state = checkpoint['model_state_dict']\n"
                    "    checkpoint['model_state_dict'] = {\n"
                    "        n: state[n] if n in state and state[n].shape == t.shape "
                    "else t\n"
                    "        for n, t in mine.items()\n"
                    "    }\n" + BEFORE,
                ),
            ),
            # one way only: names that are too many are dropped
            (
                (
                    BEFORE,
                    "    checkpoint['model_state_dict'] = {\n"
                    "        n: t for n, t in checkpoint['model_state_dict'].items()\n"
                    "        if n in model.state_dict()\n"
                    "    }\n" + BEFORE,
                ),
            ),
        ),
    ),
    Mistake(
        id="copies-by-hand",
        says="You copy the values yourself: copy_ broadcasts a shape that does not fit, "
        "and reshape takes a transposed one. Look at what compares the shapes.",
        edits=(
            (
                SET,
                "        state = checkpoint['model_state_dict']\n"
                "        if state.keys() != model.state_dict().keys():\n"
                "            raise RuntimeError('other names')\n"
                "        for name, tensor in model.state_dict().items():\n"
                "            tensor.copy_(state[name])\n"
                "        for key, part in list(parts.items())[1:]:\n"
                "            part.load_state_dict(checkpoint[key])\n",
            ),
        ),
        caught_by={"a_model_that_does_not_fit_is_refused"},
        forms=(
            (
                (
                    SET,
                    "        mine = model.state_dict()\n"
                    "        state = checkpoint['model_state_dict']\n"
                    "        if state.keys() != mine.keys() or any(\n"
                    "            t.numel() != state[n].numel() "
                    "for n, t in mine.items()\n"
                    "        ):\n"
                    "            raise RuntimeError('the model does not fit')\n"
                    "        for name, tensor in mine.items():\n"
                    "            tensor.copy_(state[name].reshape(tensor.shape))\n"
                    "        for key, part in list(parts.items())[1:]:\n"
                    "            part.load_state_dict(checkpoint[key])\n",
                ),
            ),
            (
                (
                    SET,
                    "        state = checkpoint['model_state_dict']\n"
                    "        for name, tensor in model.state_dict().items():\n"
                    "            if name in state and "
                    "state[name].dim() == tensor.dim():\n"
                    "                tensor.copy_(state[name].expand_as(tensor)\n"
                    "                    if state[name].numel() == 1 else state[name])\n"
                    "            else:\n"
                    "                raise RuntimeError(f'no {name}')\n"
                    "        for key, part in list(parts.items())[1:]:\n"
                    "            part.load_state_dict(checkpoint[key])\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="error-order",
        says="You look at another state before the model's: the error is then about the "
        "optimizer, where the model is what does not fit. Look at what is loaded first.",
        edits=((SET, SET.replace("parts.items()", "reversed(parts.items())")),),
        caught_by={"the_model_is_checked_first"},
        forms=(
            (
                (
                    SET,
                    "        if optimizer is not None:\n"
                    "            optimizer.load_state_dict("
                    "checkpoint['optimizer_state_dict'])\n" + SET,
                ),
            ),
        ),
    ),
    Mistake(
        id="wraps-errors",
        says="You turn what torch raises into an error of your own: whoever catches the "
        "ValueError of an optimizer misses it. Look at your except.",
        edits=(
            (
                "            part.load_state_dict(before[key])\n        raise\n",
                "            part.load_state_dict(before[key])\n"
                '        raise RuntimeError("the checkpoint does not fit")\n',
            ),
        ),
        caught_by={"another_state_that_does_not_fit_raises"},
        forms=(
            (
                (
                    UNDO,
                    UNDO.replace(
                        "        raise\n", "        raise Exception('not loaded')\n"
                    ),
                ),
            ),
        ),
    ),
    Mistake(
        id="misfit-ignored",
        says="You pass over a state that does not fit: the run goes on with a fresh one "
        "and nothing tells. Look at your except.",
        edits=(
            (
                UNDO,
                UNDO.replace(
                    "        raise\n",
                    "        if not isinstance(key, str):\n            raise\n",
                ),
            ),
        ),
        caught_by={
            "a_model_that_does_not_fit_is_refused",
            "another_state_that_does_not_fit_raises",
        },
        forms=(
            (
                (
                    UNDO,
                    UNDO.replace("        raise\n", "        print('starting anew')\n"),
                ),
            ),
        ),
    ),
    Mistake(
        id="epoch-off-by-one",
        says="You change the epoch by one: an epoch is then trained twice or never. "
        "Look at who adds one, here or the caller.",
        edits=((START, START.replace('"epoch": epoch', '"epoch": epoch + 1')),),
        caught_by={"file_holds_epoch_and_best_metric"},
        source="Lightning-AI/pytorch-lightning#850",
        # the loading side takes it back: other readers of the file still see one more
        forms=(
            (
                (START, START.replace('"epoch": epoch', '"epoch": epoch + 1')),
                (RETURN, RETURN.replace('["epoch"],', '["epoch"] - 1,')),
            ),
        ),
    ),
    Mistake(
        id="returns-next-epoch",
        says="You return the epoch to go on with, not the one that was saved. Look at "
        "what is asked.",
        edits=((RETURN, RETURN.replace('["epoch"],', '["epoch"] + 1,')),),
        caught_by={"loading_returns_epoch_and_best_metric"},
        source="facebookresearch/FFCV-SSL#3",
    ),
    Mistake(
        id="drops-best-metric",
        says="You leave the best metric out of the file: after a resume any epoch is the "
        "best so far. Look at what the file holds.",
        edits=(
            (START, '    checkpoint: dict[str, Any] = {"epoch": epoch}\n'),
            (
                RETURN,
                RETURN.replace(
                    'checkpoint["best_metric"]', 'checkpoint.get("best_metric")'
                ),
            ),
        ),
        caught_by={"file_holds_the_named_keys"},
        forms=(
            (
                (START, START.replace("best_metric}", "float('-inf')}")),
                (COLLECT, COLLECT + '    checkpoint.pop("best_metric")\n'),
            ),
        ),
    ),
    Mistake(
        id="falsy-best-metric",
        says="You test a number where you mean None: 0.0 and epoch 0 are values that "
        "count as false. Look at `or`, and at `if` on a number.",
        edits=(
            (START, START.replace("best_metric}", 'best_metric or float("-inf")}')),
        ),
        caught_by={"file_holds_epoch_and_best_metric"},
        forms=(
            (
                (
                    COLLECT,
                    COLLECT + "    if abs(best_metric) == float('inf'):\n"
                    "        del checkpoint['best_metric']\n",
                ),
            ),
            ((START, START.replace("best_metric}", "best_metric or None}")),),
            ((START, START.replace('"epoch": epoch', '"epoch": epoch or 1')),),
            (
                (
                    COLLECT,
                    COLLECT + "    if best_metric in (float('inf'), -float('inf')):\n"
                    '        checkpoint["best_metric"] = None\n',
                ),
            ),
        ),
    ),
    Mistake(
        id="falsy-best-metric-on-load",
        says="You test a number where you mean None: a saved 0.0 is returned as "
        "something else. Look at `or` in what you return.",
        edits=(
            (
                RETURN,
                RETURN.replace(
                    'checkpoint["best_metric"]',
                    'checkpoint["best_metric"] or float("-inf")',
                ),
            ),
        ),
        caught_by={"loading_returns_epoch_and_best_metric"},
        forms=(
            (
                (
                    RETURN,
                    RETURN.replace(
                        'checkpoint["best_metric"]}',
                        'checkpoint["best_metric"]} if checkpoint["epoch"] else '
                        '{"epoch": None, "best_metric": None}',
                    ),
                ),
            ),
        ),
    ),
    Mistake(
        id="rounds-result",
        says="You round the best metric: a slightly worse one then looks like a new "
        "best. Look at what you do to the number.",
        edits=((START, START.replace("best_metric}", "round(best_metric, 4)}")),),
        caught_by={"file_holds_epoch_and_best_metric"},
        forms=(
            ((START, START.replace("best_metric}", "torch.tensor(best_metric)}")),),
        ),
    ),
    Mistake(
        id="returns-whole-checkpoint",
        says="You return all that is in the file, states too: they keep the memory, and "
        "only two values are asked. Look at the last line.",
        edits=((RETURN, "    return checkpoint\n"),),
        caught_by={"loading_returns_epoch_and_best_metric"},
        forms=(
            (
                (
                    RETURN,
                    "    return {k: v for k, v in checkpoint.items() "
                    'if not k.endswith("_state_dict")}\n',
                ),
            ),
            ((RETURN, '    return checkpoint["epoch"], checkpoint["best_metric"]\n'),),
            ((RETURN, '    return checkpoint["epoch"]\n'),),
        ),
    ),
    Mistake(
        id="saves-parameters-only",
        says="You save the parameters and not the buffers: BatchNorm's statistics are "
        "lost. Look at what a state_dict() holds besides parameters.",
        edits=(
            (
                COLLECT,
                COLLECT + '    checkpoint["model_state_dict"] = '
                "dict(model.named_parameters())\n",
            ),
        ),
        caught_by={"file_holds_every_state_whole"},
        forms=(
            (
                (
                    COLLECT,
                    COLLECT + "    names = dict(model.named_parameters("
                    "remove_duplicate=False))\n"
                    '    checkpoint["model_state_dict"] = {\n'
                    "        n: t for n, t in model.state_dict().items() if n in names\n"
                    "    }\n",
                ),
                (
                    SET,
                    SET.replace(
                        "part.load_state_dict(checkpoint[key])",
                        "part.load_state_dict({**part.state_dict(), "
                        "**checkpoint[key]} if part is model else checkpoint[key])",
                    ),
                ),
            ),
            # only what is trained
            (
                (
                    COLLECT,
                    COLLECT + '    checkpoint["model_state_dict"] = {\n'
                    "        n: t for n, t in model.state_dict(keep_vars=True).items()\n"
                    "        if t.requires_grad\n    }\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="casts-the-weights",
        says="You save the weights in another precision: the resumed run is not the one "
        "that was saved. Look at what you do to the tensors.",
        edits=(
            (
                COLLECT,
                COLLECT + '    checkpoint["model_state_dict"] = {\n'
                "        n: t.float() if t.is_floating_point() else t\n"
                "        for n, t in model.state_dict().items()\n    }\n",
            ),
        ),
        caught_by={"file_holds_every_state_whole"},
    ),
    Mistake(
        id="loads-into-copy",
        says="You load into copies: the objects that you were given are as before. Look "
        "at what the caller holds.",
        edits=((BEFORE, BEFORE + "    parts = copy.deepcopy(parts)\n"),),
        caught_by={"loading_restores_every_object"},
        source="NVIDIA/Megatron-LM#174",
        forms=(
            ((READ, READ + "    model = copy.deepcopy(model)\n"),),
            # the values are read, and never written
            (
                (
                    SET,
                    "        for key, part in parts.items():\n"
                    "            part.state_dict().update(checkpoint[key])\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="assign-replaces-parameters",
        says="You put new Parameter objects into the model: the optimizer goes on with "
        "the old ones, and the model never trains again. Look at assign=True.",
        edits=(
            (
                SET,
                SET.replace(
                    "part.load_state_dict(checkpoint[key])",
                    "part.load_state_dict(checkpoint[key], "
                    "**({'assign': True} if part is model else {}))",
                ),
            ),
        ),
        caught_by={
            "parameters_stay_the_same_objects",
            "momentum_carries_on_by_1_9",
        },
        forms=(
            (
                (
                    SET,
                    SET + "        for module in model.modules():\n"
                    "            for name, p in list(module._parameters.items()):\n"
                    "                if p is not None:\n"
                    "                    setattr(module, name, nn.Parameter(p.clone(), "
                    "p.requires_grad))\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="optimizer-set-by-setstate",
        says="You set the optimizer's attributes yourself: its groups then hold numbers, "
        "not the model's parameters. Look at how the optimizer is set.",
        edits=(
            (
                SET,
                SET.replace(
                    "            part.load_state_dict(checkpoint[key])",
                    "            if part is optimizer:\n"
                    "                part.__setstate__(checkpoint[key])\n"
                    "            else:\n"
                    "                part.load_state_dict(checkpoint[key])",
                ),
            ),
        ),
        caught_by={"parameters_stay_the_same_objects", "momentum_carries_on_by_1_9"},
    ),
    Mistake(
        id="one-file-a-state",
        says="You make a folder of files where one file is asked. Look at what lies at "
        "the path.",
        edits=(
            (
                WRITE_ALL,
                "    path.mkdir(exist_ok=True)\n"
                "    for key, value in checkpoint.items():\n"
                "        torch.save(value, path / key)\n",
            ),
        ),
        caught_by={"file_is_read_with_weights_only"},
    ),
    Mistake(
        id="wrong-keys",
        says="You use other keys than the ones asked, on both sides: your own files load, "
        "and nobody else's. Look at the names in the file.",
        edits=((SCALER_KEY, SCALER_KEY.replace("grad_scaler", "scaler")),),
        caught_by={"file_holds_the_named_keys"},
        source="PolymathicAI/the_well#63",
        forms=(
            (
                (SCALER_KEY, '        "scaler": scaler,\n'),
                (SCHEDULER_KEY, '        "scheduler": scheduler,\n'),
                (OPTIMIZER_KEY, '        "optimizer": optimizer,\n'),
            ),
            (
                (MODEL_KEY, '        "model": model,\n'),
                (SCALER_KEY, '        "scaler": scaler,\n'),
                (SCHEDULER_KEY, '        "scheduler": scheduler,\n'),
                (OPTIMIZER_KEY, '        "optimizer": optimizer,\n'),
            ),
            (
                (MODEL_KEY, '        "model": model,\n'),
                (OPTIMIZER_KEY, '        "optimizer": optimizer,\n'),
            ),
            ((MODEL_KEY, '        "state_dict": model,\n'),),
            ((OPTIMIZER_KEY, '        "optimizer": optimizer,\n'),),
            ((SCHEDULER_KEY, '        "lr_scheduler": scheduler,\n'),),
            (
                (START, START.replace('"best_metric"', '"best"')),
                (
                    RETURN,
                    RETURN.replace('checkpoint["best_metric"]', 'checkpoint["best"]'),
                ),
            ),
            # nested one level down
            (
                (WRITE, WRITE.replace("(checkpoint,", '({"checkpoint": checkpoint},')),
                (READ, READ.rstrip("\n") + '["checkpoint"]\n'),
            ),
        ),
    ),
    Mistake(
        id="none-for-what-is-not-given",
        says="You save None for an object that was not given: whoever looks for the key "
        "finds one. Look at what is in the file.",
        edits=(
            (
                COLLECT,
                COLLECT + '    checkpoint.setdefault("scheduler_state_dict", None)\n',
            ),
        ),
        caught_by={"file_holds_the_named_keys"},
        forms=(
            (
                (
                    COLLECT,
                    COLLECT
                    + '    checkpoint.setdefault("grad_scaler_state_dict", {})\n',
                ),
            ),
        ),
    ),
    Mistake(
        id="demands-what-is-not-asked",
        says="You demand states of the file that nobody asked for: a model is then not "
        "to be had from it. Look at which keys you look for.",
        edits=(
            (
                MISSING,
                MISSING.replace(
                    "in parts:", "in {**parts, 'optimizer_state_dict': None}:"
                ),
            ),
        ),
        caught_by={"states_not_asked_for_are_passed_over"},
    ),
    Mistake(
        id="no-map-location",
        says="You leave map_location out: tensors go back to the device they came from, "
        "and a file from a GPU does not load without one. Look at how the file is read.",
        edits=((READ, READ.replace("map_location=map_location, ", "")),),
        caught_by={"a_file_from_a_gpu_loads_without_one"},
        forms=(
            # moved when it is read already
            (
                (
                    READ,
                    READ.replace("map_location=map_location, ", "")
                    + "    torch.utils._pytree.tree_map_only(\n"
                    "        torch.Tensor, lambda t: t.to(map_location), checkpoint\n"
                    "    )\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="ignores-map-location",
        says="You read the file to the CPU whatever map_location says. Look at what the "
        "argument is for.",
        edits=((READ, READ.replace("=map_location", '="cpu"')),),
        caught_by={"map_location_is_not_ignored"},
        forms=(
            (
                (
                    READ,
                    READ.replace("=map_location", "=lambda storage, location: storage"),
                ),
            ),
        ),
    ),
    Mistake(
        id="bare-filename-fails",
        says="You make the folder of a path that has none: os.path.dirname of a bare "
        "name is an empty text. Look at what happens with 'last.pt'.",
        edits=(
            (
                PARENTS,
                "    os.makedirs(os.path.dirname(path), exist_ok=True)\n",
            ),
        ),
        caught_by={"takes_a_bare_file_name"},
        forms=(
            (
                (
                    PARENTS,
                    "    os.mkdir(os.path.split(path)[0]) if not "
                    "os.path.isdir(os.path.split(path)[0]) and not path.is_absolute() "
                    "else path.parent.mkdir(parents=True, exist_ok=True)\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="no-parent-folders",
        says="You do not make the folders above the file, or only the last of them. Look "
        "at what a new run's path lacks.",
        edits=((PARENTS, ""),),
        caught_by={"takes_any_path_and_makes_its_parents"},
        forms=(((PARENTS, PARENTS.replace("parents=True, ", "")),),),
    ),
    Mistake(
        id="folder-must-be-new",
        says="You make the folder even where there is one, and fail. Look at the second "
        "save into a folder.",
        edits=((PARENTS, PARENTS.replace(", exist_ok=True", "")),),
        caught_by={"file_is_read_with_weights_only"},
    ),
    Mistake(
        id="path-must-be-str",
        says="You treat the path as a `str`: with a Path it fails. Look at what makes "
        "one kind of path of the other.",
        edits=(
            (AS_PATH, ""),
            (
                PARENTS,
                "    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)\n",
            ),
            (WHERE, '    temporary = Path(path + ".tmp")\n'),
        ),
        caught_by={"file_is_read_with_weights_only"},
        forms=(((AS_PATH, "    assert isinstance(path, str)\n" + AS_PATH),),),
    ),
    Mistake(
        id="path-must-be-a-path",
        says="You treat the path as a pathlib.Path: with a `str` it fails. Look at what "
        "makes one kind of path of the other.",
        edits=((AS_PATH, ""),),
        caught_by={"takes_any_path_and_makes_its_parents"},
        forms=(
            ((AS_PATH, "    assert isinstance(path, Path)\n"),),
            ((READ, READ.replace("(path,", "(path.absolute(),")),),
        ),
    ),
    Mistake(
        id="missing-file-is-fresh-start",
        says="You take a missing file for a fresh start: a typing error in the path then "
        "costs the whole run. Look at what happens when there is no file.",
        edits=(
            (
                READ,
                "    if not os.path.exists(path):\n"
                '        return {"epoch": 0, "best_metric": float("-inf")}\n' + READ,
            ),
        ),
        caught_by={"a_missing_file_is_file_not_found"},
        forms=(
            (
                (
                    READ,
                    "    if not os.path.exists(path):\n"
                    '        raise ValueError(f"no file {path}")\n' + READ,
                ),
            ),
            (
                (
                    READ,
                    "    Path(path).parent.mkdir(parents=True, exist_ok=True)\n" + READ,
                ),
            ),
        ),
    ),
    Mistake(
        id="changes-modes",
        says="You set the model's mode, or its requires_grad: that is the caller's. Look "
        "at what a checkpoint does not hold.",
        edits=((RETURN, "    model.eval()\n" + RETURN),),
        caught_by={"nothing_else_of_the_objects_changes"},
        forms=(
            ((RETURN, "    model.train()\n" + RETURN),),
            ((COLLECT, "    model.eval()\n" + COLLECT),),
            ((RETURN, "    model.requires_grad_(True)\n" + RETURN),),
        ),
    ),
    Mistake(
        id="saving-changes-the-objects",
        says="You change the objects that you save: training goes on with something "
        "else. Look at what a save has to do with more than reading.",
        edits=((COLLECT, COLLECT + "    optimizer.state.clear()\n"),),
        caught_by={"nothing_else_of_the_objects_changes"},
        forms=(
            ((COLLECT, COLLECT + "    model.float()\n"),),
            ((COLLECT, COLLECT + "    scheduler and scheduler.step()\n"),),
        ),
    ),
    Mistake(
        id="loading-removes-the-file",
        says="You remove or rewrite the file when you have loaded it: the next start "
        "finds none. Look at what a load has to do with more than reading.",
        edits=((RETURN, "    os.remove(path)\n" + RETURN),),
        caught_by={"nothing_else_of_the_objects_changes"},
    ),
    Mistake(
        id="reseeds",
        says="You seed the global random state: the caller's seed is undone. Look at "
        "what is not yours to set.",
        edits=((RETURN, "    torch.manual_seed(0)\n" + RETURN),),
        caught_by={"global_state_stays"},
        forms=(((START, "    torch.manual_seed(epoch)\n" + START),),),
    ),
    Mistake(
        id="leaves-a-setting-changed",
        says="You change a global setting, or the working directory, and leave it so. "
        "Look at what outlives the call.",
        edits=((RETURN, "    torch.set_grad_enabled(False)\n" + RETURN),),
        caught_by={"global_state_stays"},
        forms=(
            (
                (
                    WHERE,
                    "    path = path.absolute()\n    os.chdir(path.parent)\n" + WHERE,
                ),
            ),
        ),
    ),
    # Right, however unusual.
    Mistake(
        id="moves-with-shutil",
        says="Within a folder shutil.move is a rename.",
        edits=(
            ("import os\n", "import os\nimport shutil\n"),
            (REPLACE, "        shutil.move(str(temporary), str(path))\n"),
        ),
        forms=(
            ((REPLACE, "        temporary.rename(path)\n"),),
            ((WHERE, "    temporary = Path(str(path) + '.tmp')\n"),),
            ((WHERE, "    temporary = path.with_suffix('.part')\n"),),
        ),
    ),
    Mistake(
        id="tempfile-in-the-folder",
        says="tempfile makes the name, in the target's folder.",
        edits=(
            ("import os\n", "import os\nimport tempfile\n"),
            (
                WHERE,
                "    handle, name = tempfile.mkstemp(dir=path.parent)\n"
                "    os.close(handle)\n"
                "    temporary = Path(name)\n",
            ),
        ),
        forms=(
            (
                ("import os\n", "import os\nimport tempfile\n"),
                (
                    WRITE_ALL,
                    "    with tempfile.TemporaryDirectory(dir=path.parent) as folder:\n"
                    "        torch.save(checkpoint, Path(folder) / 'x.pt')\n"
                    "        os.replace(Path(folder) / 'x.pt', path)\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="bytes-first-and-fsync",
        says="Serialised in memory, written to a temporary file, synced, renamed.",
        edits=(
            ("import os\n", "import io\nimport os\n"),
            (
                WRITE,
                "        buffer = io.BytesIO()\n"
                "        torch.save(checkpoint, buffer)\n"
                "        with open(temporary, 'wb') as file:\n"
                "            file.write(buffer.getbuffer())\n"
                "            file.flush()\n"
                "            os.fsync(file.fileno())\n",
            ),
            (
                REPLACE,
                REPLACE + "        with open(path, 'r+b') as file:\n"
                "            os.fsync(file.fileno())\n",
            ),
        ),
    ),
    Mistake(
        id="keeps-a-link-meanwhile",
        says="A second name for the old file while the new one is written.",
        edits=(
            (
                REPLACE,
                "        kept = path.with_name('.' + path.name + '.old')\n"
                "        if path.exists():\n"
                "            os.link(path, kept)\n"
                + "        os.replace(temporary, path)\n"
                "        kept.unlink(missing_ok=True)\n",
            ),
        ),
    ),
    Mistake(
        id="reads-back-before-renaming",
        says="The new file is read once before it takes the old one's place.",
        edits=((WRITE, WRITE + "        torch.load(temporary, weights_only=True)\n"),),
    ),
    Mistake(
        id="default-weights-only",
        says="torch.load's default is weights_only=True since torch 2.6.",
        edits=((", weights_only=True", ""),),
        forms=(
            (
                (
                    READ,
                    "    with open(path, 'rb') as file:\n"
                    "        checkpoint = torch.load(file, map_location, "
                    "weights_only=True)\n",
                ),
            ),
            (
                ("weights_only=True)", "weights_only=True, mmap=True)"),
                ("load(path,", "load(os.fspath(path),"),
            ),
        ),
    ),
    Mistake(
        id="tries-on-copies",
        says="Everything is tried on deep copies first.",
        edits=(
            (
                SET_ALL,
                "    for key, part in parts.items():\n"
                "        state = copy.deepcopy(checkpoint[key])\n"
                "        copy.deepcopy(part).load_state_dict(state)\n"
                "    for key, part in parts.items():\n"
                "        part.load_state_dict(checkpoint[key])\n",
            ),
        ),
    ),
    Mistake(
        id="finds-missing-states-by-looking-up",
        says="A plain look-up raises the KeyError, before anything is loaded.",
        edits=(
            (MISSING, "    states = [checkpoint[key] for key in parts]\n"),
            (
                "            part.load_state_dict(checkpoint[key])\n",
                "            part.load_state_dict(states[list(parts).index(key)])\n",
            ),
        ),
        forms=(
            (
                (
                    MISSING,
                    "    missing = sorted(parts.keys() - checkpoint.keys())\n"
                    "    if missing:\n"
                    "        raise KeyError(', '.join(missing))\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="missing-states-after-the-model",
        says="The model is looked at before the missing keys: either error is right.",
        edits=((MISSING, "    parts['model_state_dict'] = model\n"),),
    ),
    Mistake(
        id="more-in-the-file",
        says="More keys: versions, random states, the optimizer's kind.",
        edits=(
            (
                COLLECT,
                COLLECT + '    checkpoint["torch"] = str(torch.__version__)\n'
                '    checkpoint["rng"] = torch.get_rng_state()\n'
                '    checkpoint["optimizer"] = type(optimizer).__name__\n',
            ),
        ),
    ),
    Mistake(
        id="states-on-the-cpu",
        says="The tensors are copied to the CPU before they are written.",
        edits=(
            (
                COLLECT,
                COLLECT + '    checkpoint["model_state_dict"] = {\n'
                "        n: t.detach().cpu().clone() "
                "for n, t in model.state_dict().items()\n    }\n",
            ),
        ),
        forms=(
            # the format before torch 1.6
            ((WRITE, WRITE.replace(")", ", _use_new_zipfile_serialization=False)")),),
            ((COLLECT, COLLECT + "    checkpoint = copy.deepcopy(checkpoint)\n"),),
        ),
    ),
    Mistake(
        id="renames-within-an-open-folder",
        says="The rename goes by names within a folder's descriptor.",
        edits=(
            (
                REPLACE,
                "        folder = os.open(path.parent, os.O_RDONLY)\n"
                "        os.replace(\n"
                "            temporary.name, path.name, "
                "src_dir_fd=folder, dst_dir_fd=folder\n"
                "        )\n"
                "        os.fsync(folder)\n"
                "        os.close(folder)\n",
            ),
        ),
    ),
    Mistake(
        id="copied-beside-then-renamed",
        says="Written elsewhere, copied beside the target, and renamed from there.",
        edits=(
            ("import os\n", "import os\nimport shutil\nimport tempfile\n"),
            (
                WRITE,
                "        with tempfile.NamedTemporaryFile() as far:\n"
                "            torch.save(checkpoint, far)\n"
                "            far.flush()\n"
                "            shutil.copyfile(far.name, temporary)\n",
            ),
        ),
    ),
    Mistake(
        id="compares-then-sets-data",
        says="Names and shapes are compared, then each parameter's data is set.",
        edits=(
            (
                SET,
                "        state = checkpoint.pop('model_state_dict')\n"
                "        mine = model.state_dict(keep_vars=True)\n"
                "        if {n: t.shape for n, t in mine.items()} != {\n"
                "            n: t.shape for n, t in state.items()\n"
                "        }:\n"
                "            raise RuntimeError('the model does not fit')\n"
                "        for key, part in list(parts.items())[1:]:\n"
                "            part.load_state_dict(checkpoint[key])\n"
                "        for name, tensor in mine.items():\n"
                "            tensor.data = state[name]\n",
            ),
        ),
    ),
    Mistake(
        id="tries-the-model-on-meta",
        says="A copy on the meta device has the shapes and no memory.",
        edits=(
            (
                BEFORE,
                "    trial = copy.deepcopy(model).to('meta')\n"
                "    trial.load_state_dict(checkpoint['model_state_dict'])\n" + BEFORE,
            ),
        ),
    ),
    Mistake(
        id="undoes-on-exceptions-only",
        says="Ctrl-C aside, what load_state_dict raises is an Exception.",
        edits=(("    except BaseException:\n", "    except Exception:\n"),),
    ),
    Mistake(
        id="dry-run-and-named-temporary",
        says="A named temporary file, a dry run on copies.",
        rewrite="""
import copy, os, tempfile, torch

def save_checkpoint(path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None):
    path = os.path.abspath(os.fspath(path))
    directory = os.path.dirname(path)
    os.makedirs(directory, exist_ok=True)
    payload = dict(epoch=epoch, best_metric=best_metric,
                   model_state_dict=model.state_dict(),
                   optimizer_state_dict=optimizer.state_dict())
    if scheduler is not None:
        payload["scheduler_state_dict"] = scheduler.state_dict()
    if scaler is not None:
        payload["grad_scaler_state_dict"] = scaler.state_dict()
    f = tempfile.NamedTemporaryFile(dir=directory, prefix="tmp_", suffix=".pt", delete=False)
    try:
        with f:
            torch.save(payload, f)
            f.flush()
            os.fsync(f.fileno())
        os.replace(f.name, path)
    except BaseException:
        os.unlink(f.name)
        raise

def load_checkpoint(path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"):
    ckpt = torch.load(path, map_location=map_location, weights_only=True)
    msd = ckpt["model_state_dict"]
    for wanted, key in ((optimizer, "optimizer_state_dict"), (scheduler, "scheduler_state_dict"), (scaler, "grad_scaler_state_dict")):
        if wanted is not None and key not in ckpt:
            raise KeyError(key)
    # dry run on copies: everything that can raise raises here
    copy.deepcopy(model).load_state_dict(msd)
    for obj, key in ((optimizer, "optimizer_state_dict"), (scheduler, "scheduler_state_dict"), (scaler, "grad_scaler_state_dict")):
        if obj is not None:
            copy.deepcopy(obj).load_state_dict(copy.deepcopy(ckpt[key]))
    model.load_state_dict(msd)
    if optimizer is not None: optimizer.load_state_dict(ckpt["optimizer_state_dict"])
    if scheduler is not None: scheduler.load_state_dict(ckpt["scheduler_state_dict"])
    if scaler is not None: scaler.load_state_dict(ckpt["grad_scaler_state_dict"])
    return {k: ckpt[k] for k in ("epoch", "best_metric")}
""",
    ),
    Mistake(
        id="context-managers",
        says="Context managers for the file and for undoing, keyword dictionaries.",
        rewrite="""
from __future__ import annotations
import contextlib, io, os, pathlib, uuid
from copy import deepcopy
import torch

_KEY = {"model": "model_state_dict", "optimizer": "optimizer_state_dict",
        "scheduler": "scheduler_state_dict", "scaler": "grad_scaler_state_dict"}


def _fsync_dir(d):
    fd = os.open(d, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def atomic(path):
    path = pathlib.Path(path).resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    tmp = path.parent / f"{path.name}.{uuid.uuid4().hex}"
    fd = os.open(tmp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        with os.fdopen(fd, "wb") as f:
            yield f
            f.flush()
            os.fsync(f.fileno())
        tmp.rename(path)
        _fsync_dir(path.parent)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            tmp.unlink()
        raise


def save_checkpoint(path, *, epoch, best_metric, **objects):
    buffer = io.BytesIO()
    torch.save({"version": 1, "epoch": epoch, "best_metric": best_metric,
                **{_KEY[n]: o.state_dict() for n, o in objects.items() if o is not None}}, buffer)
    with atomic(path) as f:
        f.write(buffer.getvalue())


class _Undo(contextlib.ExitStack):
    def remember(self, obj):
        self.callback(obj.load_state_dict, deepcopy(obj.state_dict()))


def load_checkpoint(path, *, map_location="cpu", **objects):
    with open(path, "rb") as f:
        ckpt = torch.load(f, map_location=map_location, weights_only=True)
    objects = {n: objects.get(n) for n in _KEY if objects.get(n) is not None}
    lacking = {_KEY[n] for n in objects} - ckpt.keys()
    if lacking:
        raise KeyError(*sorted(lacking))
    with _Undo() as undo:
        for name, obj in objects.items():
            undo.remember(obj)
            obj.load_state_dict(ckpt[_KEY[name]])
        undo.pop_all()
    return {"best_metric": ckpt["best_metric"], "epoch": ckpt["epoch"]}
""",
    ),
    Mistake(
        id="class-with-snapshot-file",
        says="A class; the snapshot goes through a file of its own.",
        rewrite="""
import os, shutil, tempfile
from collections import OrderedDict
import torch

class Checkpoint:
    NAMES = OrderedDict([("model", "model_state_dict"), ("optimizer", "optimizer_state_dict"),
                         ("scheduler", "scheduler_state_dict"), ("scaler", "grad_scaler_state_dict")])

    def __init__(self, **parts):
        self.parts = OrderedDict((k, parts[k]) for k in self.NAMES if parts.get(k) is not None)

    def capture(self):
        return {self.NAMES[k]: p.state_dict() for k, p in self.parts.items()}

    def frozen(self):
        fd, name = tempfile.mkstemp()
        os.close(fd)
        try:
            torch.save(self.capture(), name)
            return torch.load(name, weights_only=True)
        finally:
            os.remove(name)

    def restore(self, states):
        for k, p in self.parts.items():
            p.load_state_dict(states[self.NAMES[k]])

def save_checkpoint(path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None):
    where = os.path.dirname(os.fspath(path)) or "."
    if not os.path.isdir(where):
        os.makedirs(where)
    state = Checkpoint(model=model, optimizer=optimizer, scheduler=scheduler, scaler=scaler).capture()
    state.update(epoch=int(epoch), best_metric=float(best_metric), torch_version=str(torch.__version__), rng=torch.get_rng_state())
    with tempfile.TemporaryDirectory(dir=where) as d:
        torch.save(state, os.path.join(d, "ckpt"), _use_new_zipfile_serialization=False)
        shutil.move(os.path.join(d, "ckpt"), os.fspath(path))

def load_checkpoint(path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"):
    states = torch.load(os.fspath(path), map_location)
    box = Checkpoint(model=model, optimizer=optimizer, scheduler=scheduler, scaler=scaler)
    missing = [box.NAMES[k] for k in box.parts if box.NAMES[k] not in states]
    if missing:
        raise KeyError("missing in file: " + ", ".join(missing))
    backup = box.frozen()
    try:
        box.restore(states)
    except Exception as error:
        box.restore(backup)
        raise error
    return dict(epoch=states["epoch"], best_metric=states["best_metric"])
""",
    ),
    Mistake(
        id="trees-and-copies",
        says="Trees of tensors; names and shapes compared, then values copied.",
        rewrite="""
# JAX person
import copy, os, pathlib
import torch
from torch.utils import _pytree as pytree

def _host(tree):
    return pytree.tree_map(lambda x: x.detach().to("cpu").clone() if torch.is_tensor(x) else x, tree)

def save_checkpoint(path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None):
    tree = {
        "epoch": epoch,
        "best_metric": best_metric,
        "model_state_dict": _host(dict(model.state_dict())),
        "optimizer_state_dict": _host(optimizer.state_dict()),
    }
    tree |= {} if scheduler is None else {"scheduler_state_dict": _host(scheduler.state_dict())}
    tree |= {} if scaler is None else {"grad_scaler_state_dict": _host(scaler.state_dict())}
    target = pathlib.Path(os.fspath(path))
    target.parent.mkdir(exist_ok=True, parents=True)
    tmp = target.parent / (target.name + ".part")
    try:
        with tmp.open("wb") as f:
            torch.save(tree, f)
        tmp.replace(target)
    finally:
        if tmp.exists():
            tmp.unlink()

def _check_model(model, state):
    mine = model.state_dict()
    bad = mine.keys() ^ state.keys() | {k for k in mine.keys() & state.keys() if mine[k].shape != state[k].shape}
    if bad:
        raise RuntimeError(f"model does not fit: {sorted(bad)}")

def load_checkpoint(path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"):
    tree = torch.load(path, map_location=map_location, weights_only=True)
    _check_model(model, tree["model_state_dict"])
    new = {k: copy.deepcopy(tree[k]) for k, o in (("optimizer_state_dict", optimizer), ("scheduler_state_dict", scheduler), ("grad_scaler_state_dict", scaler)) if o is not None}
    others = [(optimizer, "optimizer_state_dict"), (scheduler, "scheduler_state_dict"), (scaler, "grad_scaler_state_dict")]
    done = []
    try:
        for o, k in others:
            if o is None: continue
            done.append((o, copy.deepcopy(o.state_dict())))
            o.load_state_dict(new[k])
    except Exception:
        for o, s in reversed(done):
            o.load_state_dict(s)
        raise
    with torch.no_grad():
        for k, v in model.state_dict(keep_vars=True).items():
            v.copy_(tree["model_state_dict"][k])
    return {"epoch": tree["epoch"], "best_metric": tree["best_metric"]}
""",
    ),
    Mistake(
        id="one-if-after-the-other",
        says="Everything written out, one `if` after the other.",
        rewrite="""
# verbose beginner
import os
import copy
import torch


def save_checkpoint(path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None):
    # make everything a string first
    path = os.fspath(path)
    folder = os.path.dirname(path)
    if folder != "":
        os.makedirs(folder, exist_ok=True)
    checkpoint = {}
    checkpoint["epoch"] = epoch
    checkpoint["model_state_dict"] = model.state_dict()
    checkpoint["optimizer_state_dict"] = optimizer.state_dict()
    checkpoint["best_metric"] = best_metric
    if scheduler is not None:
        checkpoint["scheduler_state_dict"] = scheduler.state_dict()
    if scaler is not None:
        checkpoint["grad_scaler_state_dict"] = scaler.state_dict()
    temp_path = path + ".tmp"
    try:
        torch.save(checkpoint, temp_path)
        os.rename(temp_path, path)
    except Exception as e:
        if os.path.exists(temp_path):
            os.remove(temp_path)
        raise RuntimeError("could not save the checkpoint") from e
    return None


def load_checkpoint(path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"):
    if not os.path.exists(path):
        raise FileNotFoundError("no checkpoint at " + str(path))
    checkpoint = torch.load(path, map_location=map_location, weights_only=True)
    if "model_state_dict" not in checkpoint:
        raise KeyError("model_state_dict")
    if optimizer is not None and "optimizer_state_dict" not in checkpoint:
        raise KeyError("optimizer_state_dict")
    if scheduler is not None and "scheduler_state_dict" not in checkpoint:
        raise KeyError("scheduler_state_dict")
    if scaler is not None and "grad_scaler_state_dict" not in checkpoint:
        raise KeyError("grad_scaler_state_dict")
    old_model = {}
    for name, value in model.state_dict().items():
        old_model[name] = value.clone()
    old_optimizer = None
    old_scheduler = None
    old_scaler = None
    if optimizer is not None:
        old_optimizer = copy.deepcopy(optimizer.state_dict())
    if scheduler is not None:
        old_scheduler = copy.deepcopy(scheduler.state_dict())
    if scaler is not None:
        old_scaler = scaler.state_dict()
    try:
        model.load_state_dict(checkpoint["model_state_dict"])
        if optimizer is not None:
            optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
        if scheduler is not None:
            scheduler.load_state_dict(checkpoint["scheduler_state_dict"])
        if scaler is not None:
            scaler.load_state_dict(checkpoint["grad_scaler_state_dict"])
    except Exception:
        model.load_state_dict(old_model)
        if optimizer is not None:
            optimizer.load_state_dict(old_optimizer)
        if scheduler is not None:
            scheduler.load_state_dict(old_scheduler)
        if scaler is not None:
            scaler.load_state_dict(old_scaler)
        raise
    result = {}
    result["epoch"] = checkpoint["epoch"]
    result["best_metric"] = checkpoint["best_metric"]
    return result
""",
    ),
    Mistake(
        id="terse",
        says="As short as it gets.",
        rewrite="""
# terse expert; scheduler restored by __dict__, mmap read
import copy, os, secrets, torch
from pathlib import Path
K = ("model", "optimizer", "scheduler", "grad_scaler")
def _named(model, optimizer, scheduler, scaler):
    return [(f"{k}_state_dict", o) for k, o in zip(K, (model, optimizer, scheduler, scaler)) if o is not None]
def save_checkpoint(path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None):
    p = Path(path).absolute(); p.parent.mkdir(0o755, True, True)
    t = p.with_name(f".{secrets.token_hex(4)}.{p.name}")
    try:
        torch.save(dict(_named(*[None]*4), epoch=epoch, best_metric=best_metric,
            **{k: o.state_dict() for k, o in _named(model, optimizer, scheduler, scaler)}), t)
        t.replace(p)
    finally: t.unlink(True)
def load_checkpoint(path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"):
    c = torch.load(os.fspath(path), map_location=map_location, weights_only=True, mmap=True)
    n = _named(model, optimizer, scheduler, scaler)
    if m := [k for k, _ in n if k not in c]: raise KeyError(m)
    old = [(o, copy.deepcopy(o.state_dict())) for _, o in n]
    ok = False
    try:
        [o.load_state_dict(c[k]) for k, o in n]
        ok = True
    finally:
        ok or [o.load_state_dict(s) for o, s in old]
    return {k: c[k] for k in ("epoch", "best_metric")}
""",
    ),
    Mistake(
        id="connector-and-io",
        says="An object for the file, an object for the parts.",
        rewrite="""
# Lightning person: hooks, strategy objects, logging
import logging, os, copy, tempfile
from dataclasses import dataclass, field
from pathlib import Path
import torch
log = logging.getLogger(__name__)

class CheckpointIO:
    def write(self, blob, path):
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        fd, tmp = tempfile.mkstemp(dir=str(path.parent), prefix=path.name)
        os.close(fd)
        try:
            torch.save(blob, tmp)
            os.chmod(tmp, 0o644)
            os.replace(tmp, path)
        except BaseException:
            os.unlink(tmp)
            log.exception("save failed")
            raise
    def read(self, path, map_location):
        return torch.load(path, map_location=map_location, weights_only=True)

@dataclass
class Connector:
    model: torch.nn.Module
    optimizer: object = None
    scheduler: object = None
    scaler: object = None
    io: CheckpointIO = field(default_factory=CheckpointIO)
    def pairs(self):
        yield "model_state_dict", self.model
        for key, obj in (("optimizer_state_dict", self.optimizer), ("scheduler_state_dict", self.scheduler), ("grad_scaler_state_dict", self.scaler)):
            if obj is not None: yield key, obj
    def dump(self): return {k: o.state_dict() for k, o in self.pairs()}
    def restore(self, ck):
        pairs = list(self.pairs())
        for k, _ in pairs: ck[k]
        backup = copy.deepcopy(self.dump())
        it = iter(pairs)
        try:
            for k, o in it: o.load_state_dict(ck[k])
        except Exception:
            for k, o in pairs: o.load_state_dict(backup[k])
            raise

def save_checkpoint(path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None):
    c = Connector(model, optimizer, scheduler, scaler)
    c.io.write({**c.dump(), "epoch": epoch, "best_metric": best_metric, "lightning": {"v": 2}}, path)

def load_checkpoint(path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"):
    c = Connector(model, optimizer, scheduler, scaler)
    ck = c.io.read(path, map_location)
    c.restore(ck)
    return {"epoch": ck["epoch"], "best_metric": ck["best_metric"]}
""",
    ),
)
