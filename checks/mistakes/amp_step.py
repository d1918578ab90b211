"""What people get wrong in `amp_step`, and unusual code that is right."""

from checks.mistakes import Mistake

CLEAR = "    optimizer.zero_grad()\n"
AUTOCAST = "    with torch.autocast(device_type, dtype=dtype):\n"
LOSS = "        loss = F.cross_entropy(model(features), targets)\n"
BACKWARD = "    scaler.scale(loss).backward()\n"
IF_CLIP = "    if max_norm is not None:\n"
UNSCALE = (
    "        scaler.unscale_(optimizer)"
    "  # else the limit would hold for scaled gradients\n"
)
CLIP = "        nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n"
OLD_SCALE = "    old_scale = scaler.get_scale()\n"
STEP = "    scaler.step(optimizer)\n"
UPDATE = "    scaler.update()\n"
COMMENT = (
    "    # A skip makes the scale smaller; a larger one has grown after good steps.\n"
)
STEPPED = "    stepped = scaler.get_scale() >= old_scale\n"
IF_SCHEDULE = "    if stepped and scheduler is not None:\n"
SCHEDULE = "        scheduler.step()\n"
RETURN = "    return loss.item(), stepped\n"

BY_HOOK = (  # asks the optimizer whether it stepped: right, and other slips show alone
    (
        OLD_SCALE + STEP,
        "    seen = []\n"
        "    hook = optimizer.register_step_post_hook(lambda *_: seen.append(1))\n"
        "    scaler.step(optimizer)\n"
        "    hook.remove()\n",
    ),
    (STEPPED, "    stepped = bool(seen)\n"),
)

GUARD = "two_calls_in_a_row_run_through"
GRADIENT = "a_step_follows_the_unscaled_gradient"
CLIPPED = "clips_unscaled_gradients_by_global_norm"

MISTAKES = (
    Mistake(
        id="backward-inside-autocast",
        says="You run backward inside autocast: it uses the types that the forward "
        "chose, and autocast has no business there. Look at where the with block ends.",
        edits=((BACKWARD, "        scaler.scale(loss).backward()\n"),),
        caught_by={"backward_and_step_run_outside_autocast"},
        source="PyTorch's automatic mixed precision recipe",
        forms=(
            # the whole function under autocast, by a decorator or by one long block
            (
                (
                    "def amp_step(",
                    "def amp_step(*args, device_type='cpu', dtype=torch.float16, **kw):\n"
                    "    with torch.autocast(device_type, dtype=dtype):\n"
                    "        return _amp_step(*args, **kw)\n\n\n"
                    "def _amp_step(",
                ),
                (AUTOCAST + LOSS, LOSS.replace("        loss", "    loss")),
            ),
            (
                (
                    AUTOCAST,
                    "    context = torch.autocast(device_type, dtype=dtype)\n"
                    "    context.__enter__()\n    if True:\n",
                ),
                (UPDATE, UPDATE + "    context.__exit__(None, None, None)\n"),
            ),
        ),
    ),
    Mistake(
        id="step-inside-autocast",
        says="You step the optimizer inside autocast. Look at where the with block "
        "ends.",
        edits=(
            (STEP, "    with torch.autocast(device_type, dtype=dtype):\n    " + STEP),
        ),
        caught_by={"backward_and_step_run_outside_autocast"},
    ),
    Mistake(
        id="no-autocast",
        says="Your forward runs without autocast, in float32: nothing is saved. Look at "
        "what wraps the call of the model.",
        edits=((AUTOCAST, "    if True:\n"),),
        caught_by={"the_forward_runs_inside_autocast"},
        source="lightning-thunder#725, after TrainCheck",
        forms=(
            (
                (
                    AUTOCAST,
                    AUTOCAST.replace("dtype=dtype", "dtype=dtype, enabled=False"),
                ),
            ),
            ((AUTOCAST, AUTOCAST.replace("device_type,", '"cuda",')),),
            ((AUTOCAST, "    with torch.cuda.amp.autocast(dtype=dtype):\n"),),
            # the forward outside, only the loss inside
            (
                (
                    AUTOCAST + LOSS,
                    "    logits = model(features)\n"
                    + AUTOCAST
                    + "        loss = F.cross_entropy(logits, targets)\n",
                ),
            ),
            # an autocast object that is never entered
            (
                (
                    AUTOCAST,
                    "    torch.autocast(device_type, dtype=dtype)\n    if True:\n",
                ),
            ),
            (
                (
                    AUTOCAST,
                    AUTOCAST.replace(
                        "dtype=dtype", 'dtype=dtype, enabled=device_type == "cuda"'
                    ),
                ),
            ),
        ),
    ),
    Mistake(
        id="autocast-follows-scaler",
        says="You switch autocast off when the scaler is disabled: bfloat16 needs no "
        "scaling, but autocast all the same. Look at what `enabled` follows.",
        edits=(
            (
                AUTOCAST,
                AUTOCAST.replace(
                    "dtype=dtype", "dtype=dtype, enabled=scaler.is_enabled()"
                ),
            ),
        ),
        caught_by={"a_disabled_scaler_works_too"},
    ),
    Mistake(
        id="dtype-ignored",
        says="You do not hand the dtype on: a CPU then takes bfloat16, a GPU float16, "
        "whatever the caller said. Look at the arguments of autocast.",
        edits=((AUTOCAST, AUTOCAST.replace(", dtype=dtype", "")),),
        caught_by={"the_forward_runs_inside_autocast"},
        forms=(
            ((AUTOCAST, AUTOCAST.replace("dtype=dtype", "dtype=torch.float16")),),
            ((AUTOCAST, AUTOCAST.replace("dtype=dtype", "dtype=torch.bfloat16")),),
        ),
    ),
    Mistake(
        id="device-type-ignored",
        says="You cast for a fixed device type: on another machine nothing is cast. "
        "Look at the first argument of autocast.",
        edits=((AUTOCAST, AUTOCAST.replace("device_type,", '"cpu",')),),
        caught_by={"autocast_follows_the_device_type"},
    ),
    Mistake(
        id="loss-outside-autocast",
        says="You take cross entropy of float16 logits outside autocast: the loss is "
        "float16 itself, coarse, and its gradient, the scale, overflows at 65536. Look "
        "at what takes the loss.",
        edits=(
            (
                LOSS,
                "        logits = model(features)\n"
                "    loss = F.cross_entropy(logits, targets)\n",
            ),
        ),
        caught_by={"the_loss_is_taken_in_float32"},
        forms=(
            # too late: the loss has been taken in float16 already
            (
                (
                    LOSS,
                    "        logits = model(features)\n"
                    "    loss = F.cross_entropy(logits, targets).float()\n",
                ),
            ),
            ((BACKWARD, "    loss = loss.to(dtype)\n" + BACKWARD),),
            # written out inside autocast: logsumexp and mean stay in float16
            (
                (
                    LOSS,
                    "        logits = model(features)\n"
                    "        picked = logits.gather(1, targets[:, None]).squeeze(1)\n"
                    "        loss = (logits.logsumexp(1) - picked).mean()\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="casts-model-to-half",
        says="You cast the model itself: small updates are lost, and a scaler refuses "
        "float16 gradients. Look at what happens to the parameters.",
        edits=((AUTOCAST, "    model.to(dtype)\n" + AUTOCAST),),
        caught_by={GUARD},
        source="Stack Overflow, 'Attempting to unscale FP16 gradients'",
        forms=(
            ((AUTOCAST, "    model.half()\n" + AUTOCAST),),
            (
                (AUTOCAST, "    model.to(dtype)\n" + AUTOCAST),
                (BACKWARD, "    model.float()\n" + BACKWARD),
            ),
        ),
    ),
    Mistake(
        id="casts-model-for-the-forward",
        says="You cast the model for the forward and back again: each step rounds every "
        "parameter. Look at what happens to the parameters.",
        edits=(
            (AUTOCAST, "    model.to(dtype)\n" + AUTOCAST),
            (BACKWARD, BACKWARD + "    model.float()\n"),
        ),
        caught_by={"the_parameters_stay_float32"},
        forms=(
            # only where torch does not complain
            (
                (
                    AUTOCAST,
                    "    if dtype is torch.bfloat16:\n        model.to(dtype)\n"
                    + AUTOCAST,
                ),
            ),
        ),
    ),
    Mistake(
        id="casts-features",
        says="You cast the features by hand: autocast does that where it must, and "
        "nowhere else. Look at what reaches the model.",
        edits=((LOSS, LOSS.replace("model(features)", "model(features.to(dtype))")),),
        caught_by={"inputs_and_modes_stay"},
        forms=(
            (("    with torch", "    features = features.half()\n    with torch"),),
        ),
    ),
    Mistake(
        id="unscaled-backward",
        says="You run backward on the loss itself and let the scaler divide the "
        "gradients by a scale that was never multiplied in. Look at what backward is "
        "called on.",
        edits=((BACKWARD, "    scaler.scale(loss)\n    loss.backward()\n"),),
        caught_by={GRADIENT},
    ),
    Mistake(
        id="never-scales",
        says="You never scale the loss: the scaler has nothing to undo, and says so. "
        "Look at what backward is called on.",
        edits=((BACKWARD, "    loss.backward()\n"),),
        caught_by={GUARD},
    ),
    Mistake(
        id="scales-gradients-after-backward",
        says="You scale the gradients after backward: those that float16 rounds to zero "
        "are lost by then. Look at what backward is called on.",
        edits=(
            (
                BACKWARD,
                "    loss.backward()\n"
                "    scaler.scale(loss)\n"
                "    for parameter in model.parameters():\n"
                "        if parameter.grad is not None:\n"
                "            parameter.grad *= scaler.get_scale()\n",
            ),
        ),
        caught_by={"tiny_gradients_survive_float16"},
    ),
    Mistake(
        id="unscales-by-hand-too",
        says="You divide the gradients by the scale yourself, and scaler.step does it "
        "again. Look at who unscales.",
        edits=(
            (
                IF_CLIP,
                "    for parameter in model.parameters():\n"
                "        if parameter.grad is not None:\n"
                "            parameter.grad /= scaler.get_scale()\n" + IF_CLIP,
            ),
        ),
        caught_by={GRADIENT},
    ),
    Mistake(
        id="unscales-by-hand-to-clip",
        says="You divide the gradients by the scale yourself before the clip; "
        "scaler.step does not know, and divides once more. Look at who unscales.",
        edits=(
            (
                UNSCALE,
                "        for parameter in model.parameters():\n"
                "            if parameter.grad is not None:\n"
                "                parameter.grad /= scaler.get_scale()\n",
            ),
        ),
        caught_by={CLIPPED},
        source="mutant",
    ),
    Mistake(
        id="clips-scaled-gradients",
        says="You clip the gradients while they are still scaled: the limit then holds "
        "for gradients that are thousands of times too large, and the step is tiny. "
        "Look at what comes before the clip.",
        edits=((UNSCALE, ""),),
        caught_by={
            CLIPPED,
            "a_gradient_below_max_norm_stays",
            "one_sample_by_hand_matches_numpy",
        },
        source="Lightning-AI/pytorch-lightning#9694",
        forms=(((UNSCALE + CLIP, CLIP + UNSCALE),),),
    ),
    Mistake(
        id="clip-after-step",
        says="You clip after the optimizer has stepped: too late. Look at the order.",
        edits=((IF_CLIP + UNSCALE + CLIP, ""), (STEP, STEP + IF_CLIP + CLIP)),
        caught_by={CLIPPED},
        source="jongwook/onsets-and-frames#24",
        forms=(((CLIP, ""), (UPDATE, UPDATE + IF_CLIP + CLIP)),),
    ),
    Mistake(
        id="no-clip",
        says="max_norm changes nothing in your step: no gradient is clipped, or at a "
        "moment when there is none to clip. Look at what stands between backward and "
        "step.",
        edits=((IF_CLIP + UNSCALE + CLIP, ""),),
        caught_by={CLIPPED},
        source="simchowitzlabpublic/nano-world-model#22",
        forms=(
            ((CLIP, ""),),
            # before backward
            ((IF_CLIP + UNSCALE + CLIP, ""), (BACKWARD, IF_CLIP + CLIP + BACKWARD)),
        ),
    ),
    Mistake(
        id="clips-each-parameter",
        says="You clip each parameter by its own norm: the direction of the gradient "
        "changes. Look at what the norm is taken over.",
        edits=(
            (
                CLIP,
                "        for parameter in model.parameters():\n"
                "            nn.utils.clip_grad_norm_([parameter], max_norm)\n",
            ),
        ),
        caught_by={CLIPPED},
        source="mutant",
        forms=(
            (
                (
                    CLIP,
                    "        for group in optimizer.param_groups:\n"
                    "            nn.utils.clip_grad_norm_(group['params'], max_norm)\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="clips-some-parameters",
        says="You clip some of the parameters and leave the others out: max_norm is for "
        "the norm over the whole model. Look at what you hand to the clip.",
        edits=(
            (
                CLIP,
                "        weights = [p for p in model.parameters() if p.dim() > 1]\n"
                "        nn.utils.clip_grad_norm_(weights, max_norm)\n",
            ),
        ),
        caught_by={CLIPPED},
        forms=(
            (
                (
                    CLIP,
                    "        biases = [p for p in model.parameters() if p.dim() <= 1]\n"
                    "        nn.utils.clip_grad_norm_(biases, max_norm)\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="clips-by-another-norm",
        says="You clip by another norm than the 2-norm. Look at how the norm is made.",
        edits=((CLIP, CLIP.replace("max_norm)", 'max_norm, norm_type=float("inf"))')),),
        caught_by={CLIPPED},
        forms=(
            # the root is missing
            (
                (
                    CLIP,
                    "        grads = [p.grad for p in model.parameters() if p.grad is not None]\n"
                    "        square = sum((g**2).sum() for g in grads)\n"
                    "        for grad in grads:\n"
                    "            grad *= torch.clamp(max_norm / square, max=1.0)\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="divides-the-mean-again",
        says="You divide a mean by the number of samples: the gradient shrinks as the "
        "batch grows. Look at what the reduction has done already.",
        edits=((LOSS, LOSS.replace("targets)\n", "targets) / len(targets)\n")),),
        caught_by={GRADIENT},
        forms=(
            (
                (LOSS, LOSS.replace("targets)\n", "targets) / len(targets)\n")),
                (RETURN, "    return loss.item() * len(targets), stepped\n"),
            ),
        ),
    ),
    Mistake(
        id="trains-a-copy",
        says="You train a copy of the model and carry the gradients over: no autocast, "
        "and buffers and hooks of the model stay behind. Look at which model is called.",
        edits=(
            (
                AUTOCAST + LOSS,
                "    half = copy.deepcopy(model).to(dtype)\n"
                "    loss = F.cross_entropy(half(features.to(dtype)).float(), targets)\n",
            ),
            (
                BACKWARD,
                BACKWARD
                + "    for parameter, other in zip(model.parameters(), half.parameters()):\n"
                "        if other.grad is not None:\n"
                "            parameter.grad = other.grad.float()\n",
            ),
            ("import torch\n", "import copy\n\nimport torch\n"),
        ),
        caught_by={"the_forward_runs_inside_autocast"},
    ),
    Mistake(
        id="retries-until-it-fits",
        says="You try again until a step goes through: a call makes one step or none, and "
        "one bad batch brings the scale down to nothing. Look at what a skip is.",
        edits=(
            (
                COMMENT,
                "    while scaler.get_scale() < old_scale and old_scale > 1e-3:\n"
                "        optimizer.zero_grad()\n"
                "        with torch.autocast(device_type, dtype=dtype):\n"
                "            loss = F.cross_entropy(model(features), targets)\n"
                "        scaler.scale(loss).backward()\n"
                "        old_scale = scaler.get_scale()\n"
                "        scaler.step(optimizer)\n"
                "        scaler.update()\n" + COMMENT,
            ),
        ),
        caught_by={"the_scale_follows_the_scalers_rules"},
    ),
    Mistake(
        id="rolls-parameters-back",
        says="You step on whatever there is and put the parameters back when they are "
        "not finite: the optimizer's state keeps the infinity. Look at what is put back.",
        edits=(
            (CLEAR, CLEAR + "    backup = copy.deepcopy(model.state_dict())\n"),
            (IF_CLIP + UNSCALE, "    scaler.unscale_(optimizer)\n" + IF_CLIP),
            (STEP, "    optimizer.step()\n"),
            (
                STEPPED,
                "    stepped = all(bool(p.isfinite().all()) for p in model.parameters())\n"
                "    if not stepped:\n"
                "        model.load_state_dict(backup)\n",
            ),
            ("import torch\n", "import copy\n\nimport torch\n"),
        ),
        caught_by={"an_overflow_changes_no_parameter"},
    ),
    Mistake(
        id="clips-values",
        says="You clip each entry of the gradient, where its norm is to be limited. "
        "Look at which clip you call.",
        edits=((CLIP, CLIP.replace("norm_(", "value_(")),),
        caught_by={CLIPPED},
    ),
    Mistake(
        id="stretches-to-max-norm",
        says="You bring every gradient to max_norm, shorter ones too. Look at what the "
        "factor may be.",
        edits=(
            (
                CLIP,
                "        parameters = [p for p in model.parameters() if p.grad is not None]\n"
                "        norm = torch.stack([p.grad.norm() for p in parameters]).norm()\n"
                "        for parameter in parameters:\n"
                "            parameter.grad *= max_norm / norm\n",
            ),
        ),
        caught_by={"a_gradient_below_max_norm_stays"},
    ),
    Mistake(
        id="zero-limit-is-no-limit",
        says="You ask whether max_norm is true: 0.0 is not, and yet a limit. Look at "
        "the condition.",
        edits=((IF_CLIP, "    if max_norm:\n"),),
        caught_by={"a_max_norm_of_zero_is_a_limit"},
        forms=(
            ((IF_CLIP, "    if max_norm is not None and max_norm > 0:\n"),),
            (
                (IF_CLIP, "    if True:\n"),
                (CLIP, CLIP.replace("max_norm)", 'max_norm or float("inf"))')),
            ),
        ),
    ),
    Mistake(
        id="clips-unasked",
        says="You clip to a norm of your own when none is given. Look at what None "
        "stands for.",
        edits=(
            (IF_CLIP, "    if True:\n"),
            (CLIP, CLIP.replace("max_norm)", "0.1 if max_norm is None else max_norm)")),
        ),
        caught_by={GRADIENT},
    ),
    Mistake(
        id="optimizer-step-directly",
        says="You step the optimizer yourself: the scaler neither unscales the "
        "gradients nor skips a step that overflowed. Look at who steps.",
        edits=((STEP, "    optimizer.step()\n"),),
        caught_by={GUARD},
        source="mutant",
        forms=(((STEP, "    optimizer.step()\n"), (UPDATE, "")),),
    ),
    Mistake(
        id="steps-on-scaled-gradients",
        says="You step the optimizer on gradients that are still scaled, and never "
        "update the scaler. Look at what undoes the scale.",
        edits=((UNSCALE, ""), (STEP, "    optimizer.step()\n"), (UPDATE, "")),
        caught_by={GRADIENT},
    ),
    Mistake(
        id="unscales-and-steps-directly",
        says="You unscale and then step the optimizer yourself: nobody skips a step "
        "that overflowed, and infinity reaches the weights. Look at who steps.",
        edits=(
            (IF_CLIP + UNSCALE, "    scaler.unscale_(optimizer)\n" + IF_CLIP),
            (STEP, "    optimizer.step()\n"),
        ),
        caught_by={"an_overflow_changes_no_parameter"},
    ),
    Mistake(
        id="no-update",
        says="You never update the scaler: it neither grows nor backs off, and refuses "
        "the next call. Look at how a call ends.",
        edits=((UPDATE, ""),),
        caught_by={GUARD},
        source="Azure/MS-AMP#45",
        forms=(
            ((UPDATE, ""), *BY_HOOK),
            # only where there is a limit
            ((UPDATE, "    if max_norm is not None:\n    " + UPDATE),),
            ((UPDATE, "    if max_norm is not None:\n    " + UPDATE), *BY_HOOK),
        ),
    ),
    Mistake(
        id="double-update",
        says="You update the scaler twice in a call: the second time there is nothing "
        "to judge by. Look at how often update() is reached.",
        edits=((UPDATE, UPDATE + UPDATE),),
        caught_by={GUARD},
        forms=(((IF_SCHEDULE, UPDATE + IF_SCHEDULE),),),
    ),
    Mistake(
        id="update-before-step",
        says="You update the scaler before its step: what it knows of this batch is "
        "gone when the step asks. Look at the order of the two.",
        edits=((STEP + UPDATE, UPDATE + STEP),),
        caught_by={GUARD},
        forms=(
            # unscaled before, so that update() goes through: divided by the scale twice
            (
                (IF_CLIP + UNSCALE, "    scaler.unscale_(optimizer)\n" + IF_CLIP),
                (STEP + UPDATE, UPDATE + STEP),
            ),
        ),
    ),
    Mistake(
        id="unscales-twice",
        says="You unscale twice in one call. Look at who calls unscale_.",
        edits=((UNSCALE, UNSCALE + "        scaler.unscale_(optimizer)\n"),),
        caught_by={GUARD},
        source="microsoft/Swin-Transformer#311",
    ),
    Mistake(
        id="no-update-on-skip",
        says="You update the scaler only after a good step: the scale that overflowed "
        "stays, and so does the overflow. Look at what happens on a skip.",
        edits=(
            (
                STEP + UPDATE,
                "    scaler.unscale_(optimizer) if max_norm is None else None\n"
                "    finite = all(\n"
                "        bool(p.grad.isfinite().all())\n"
                "        for p in model.parameters()\n"
                "        if p.grad is not None\n"
                "    )\n"
                "    if not finite:\n"
                "        scaler._per_optimizer_states.clear()\n"
                "        return loss.item(), False\n" + STEP + UPDATE,
            ),
        ),
        caught_by={"the_scale_follows_the_scalers_rules"},
        source="Haian-Jin/LVSM#19",
        forms=(
            # torch's own complaint at the next call
            (
                (
                    STEP,
                    STEP + "    if not all(\n"
                    "        bool(p.grad.isfinite().all())\n"
                    "        for p in model.parameters()\n"
                    "        if p.grad is not None\n"
                    "    ):\n"
                    "        return loss.item(), False\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="own-scaler",
        says="The scaler that you were given judges no gradient: you scale by one of "
        "your own, or by hand, so its scale never grows and never backs off. Look at "
        "whose step and update you call.",
        edits=(
            (
                CLEAR,
                CLEAR
                + "    scaler = torch.amp.GradScaler(device_type, init_scale=8.0)\n",
            ),
        ),
        caught_by={"the_scale_follows_the_scalers_rules"},
        forms=(
            (
                (
                    CLEAR,
                    CLEAR + "    scaler = torch.amp.GradScaler(\n"
                    "        device_type,\n"
                    "        init_scale=scaler.get_scale(),\n"
                    "        enabled=scaler.is_enabled(),\n"
                    "    )\n",
                ),
            ),
            ((CLEAR, CLEAR + "    scaler = torch.amp.GradScaler(device_type)\n"),),
            # scaled, unscaled and skipped by hand
            (
                (BACKWARD, "    (loss * scaler.get_scale()).backward()\n"),
                (
                    IF_CLIP + UNSCALE,
                    "    grads = [p.grad for p in model.parameters() if p.grad is not None]\n"
                    "    for grad in grads:\n"
                    "        grad /= scaler.get_scale()\n"
                    "    stepped = all(bool(g.isfinite().all()) for g in grads)\n"
                    + IF_CLIP,
                ),
                (
                    OLD_SCALE + STEP + UPDATE,
                    "    if stepped:\n        optimizer.step()\n",
                ),
                (STEPPED, ""),
            ),
        ),
    ),
    Mistake(
        id="sets-the-scale",
        says="You set the scale yourself: it then follows your rules and not the "
        "scaler's. Look at what update() is given.",
        edits=((UPDATE, "    scaler.update(scaler.get_scale())\n"),),
        caught_by={"the_scale_follows_the_scalers_rules"},
        forms=(((UPDATE, "    scaler.update(scaler.get_scale())\n"), *BY_HOOK),),
    ),
    Mistake(
        id="overflow-is-an-error",
        says="You raise on an overflow: it is how the scaler finds its scale. Look at "
        "what a skip is.",
        edits=(
            (CLIP, CLIP.replace("max_norm)", "max_norm, error_if_nonfinite=True)")),
        ),
        caught_by={"an_overflow_changes_no_parameter"},
        source="pytorch/pytorch#46849",
    ),
    Mistake(
        id="zeroes-bad-gradients",
        says="You replace what is not finite by zeros before the scaler looks: it then "
        "steps on half a gradient, and never backs off. Look at who judges the "
        "gradients.",
        edits=(
            (
                IF_CLIP,
                "    for parameter in model.parameters():\n"
                "        if parameter.grad is not None:\n"
                "            torch.nan_to_num_(parameter.grad, 0.0, 0.0, 0.0)\n"
                + IF_CLIP,
            ),
        ),
        caught_by={"an_overflow_changes_no_parameter"},
    ),
    Mistake(
        id="scheduler-always-steps",
        says="You step the scheduler although the optimizer skipped: the learning rate "
        "decays while nothing is learnt. Look at what the scheduler counts.",
        edits=((IF_SCHEDULE, "    if scheduler is not None:\n"),),
        caught_by={"the_scheduler_follows_real_steps"},
        source="pytorch/pytorch#44511",
    ),
    Mistake(
        id="scheduler-taken-back",
        says="You step the scheduler in any case and count it back on a skip: the "
        "learning rate that it has set stays. Look at when it is known.",
        edits=(
            (STEP, STEP + "    if scheduler is not None:\n        scheduler.step()\n"),
            (
                IF_SCHEDULE + SCHEDULE,
                "    if not stepped and scheduler is not None:\n"
                "        scheduler.last_epoch -= 1\n",
            ),
        ),
        caught_by={"the_scheduler_follows_real_steps"},
    ),
    Mistake(
        id="scheduler-steps-on-skip-only",
        says="You have the condition of the scheduler the wrong way round. Look at what "
        "a smaller scale means.",
        edits=((IF_SCHEDULE, IF_SCHEDULE.replace("if stepped", "if not stepped")),),
        caught_by={"the_scheduler_follows_real_steps"},
    ),
    Mistake(
        id="no-scheduler-step",
        says="You never step the scheduler. Look at the arguments.",
        edits=((IF_SCHEDULE + SCHEDULE, ""),),
        caught_by={"the_scheduler_follows_real_steps"},
    ),
    Mistake(
        id="scheduler-steps-twice",
        says="You step the scheduler twice. Look at what it counts.",
        edits=((SCHEDULE, SCHEDULE + SCHEDULE),),
        caught_by={"the_scheduler_follows_real_steps"},
        forms=(((SCHEDULE, "        scheduler.step(loss.item())\n"),),),
    ),
    Mistake(
        id="scheduler-demanded",
        says="You call the scheduler without asking whether there is one. Look at the "
        "default of the argument.",
        edits=((IF_SCHEDULE, "    if stepped:\n"),),
        caught_by={GUARD},
    ),
    Mistake(
        id="scheduler-before-optimizer",
        says="You step the scheduler before the optimizer: the first learning rate is "
        "never used. Look at the order.",
        edits=(
            (
                OLD_SCALE,
                "    finite = all(\n"
                "        bool(p.grad.isfinite().all())\n"
                "        for p in model.parameters()\n"
                "        if p.grad is not None\n"
                "    )\n"
                "    if finite and scheduler is not None:\n"
                "        scheduler.step()\n" + OLD_SCALE,
            ),
            (IF_SCHEDULE + SCHEDULE, ""),
        ),
        caught_by={"the_scheduler_comes_after_the_optimizer"},
        source="pytorch/pytorch#20124",
        forms=(
            # and on a skip too
            (
                (
                    OLD_SCALE,
                    "    if scheduler is not None:\n        scheduler.step()\n"
                    + OLD_SCALE,
                ),
                (IF_SCHEDULE + SCHEDULE, ""),
            ),
        ),
    ),
    Mistake(
        id="skip-detected-by-scale-change",
        says="You take every change of the scale for a skip: when it grows the step was "
        "good. Look at which way the scale went.",
        edits=((STEPPED, STEPPED.replace(">=", "==")),),
        caught_by={
            "stepped_tells_what_the_optimizer_did",
            "the_scheduler_follows_real_steps",
        },
        source="found while gathering; root in pytorch/pytorch#67590",
        forms=(
            ((STEPPED, "    stepped = not (scaler.get_scale() != old_scale)\n"),),
            # a growth counter of 0 is taken for a skip
            (
                (
                    STEPPED,
                    "    stepped = not scaler.is_enabled() or scaler._get_growth_tracker() > 0\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="disabled-scaler-breaks",
        says="You read the scale where a disabled scaler has none. Look at what "
        "get_scale() gives for it.",
        edits=(
            (OLD_SCALE, "    old_scale = scaler.state_dict()['scale']\n"),
            (STEPPED, "    stepped = scaler.state_dict()['scale'] >= old_scale\n"),
        ),
        caught_by={"a_disabled_scaler_works_too"},
        forms=(
            (
                (OLD_SCALE, "    old_scale = scaler._scale.item()\n"),
                (STEPPED, "    stepped = scaler._scale.item() >= old_scale\n"),
            ),
            # says that nothing stepped
            ((STEPPED, "    stepped = scaler.get_scale() >= max(old_scale, 1.5)\n"),),
        ),
    ),
    Mistake(
        id="no-step-without-scaler",
        says="You step by way of the scaler only when it is enabled, and not at all "
        "otherwise. Look at what a disabled scaler's step does.",
        edits=(
            (STEP, "    if scaler.is_enabled():\n        scaler.step(optimizer)\n"),
        ),
        caught_by={"a_disabled_scaler_works_too"},
    ),
    Mistake(
        id="no-clip-without-scaler",
        says="You clip only when the scaler is enabled. Look at what max_norm has to do "
        "with it.",
        edits=((IF_CLIP, "    if max_norm is not None and scaler.is_enabled():\n"),),
        caught_by={"a_disabled_scaler_works_too"},
    ),
    Mistake(
        id="scheduler-takes-growth-for-a-skip",
        says="You return the right answer and let the scheduler step only while the scale "
        "stands still: when it grows the step was good. Look at the scheduler's condition.",
        edits=(
            (
                IF_SCHEDULE,
                "    if scheduler is not None and scaler.get_scale() == old_scale:\n",
            ),
        ),
        caught_by={"the_scheduler_follows_real_steps"},
    ),
    Mistake(
        id="bfloat16-shortcut",
        says="You take a branch of your own for bfloat16, and it forgets the scheduler. "
        "Look at what a disabled scaler makes of the common code.",
        edits=(
            (
                OLD_SCALE,
                "    if dtype == torch.bfloat16 and not scaler.is_enabled():\n"
                "        optimizer.step()\n"
                "        return loss.item(), True\n" + OLD_SCALE,
            ),
        ),
        caught_by={"a_disabled_scaler_works_too"},
    ),
    Mistake(
        id="stepped-needs-growth",
        says="You ask for a larger scale: on most good steps it stays as it is. Look at "
        "the comparison.",
        edits=((STEPPED, STEPPED.replace(">=", ">")),),
        caught_by={"stepped_tells_what_the_optimizer_did"},
    ),
    Mistake(
        id="scale-compared-too-early",
        says="You compare the scale before update() has changed it: nothing is ever a "
        "skip. Look at when the second reading is taken.",
        edits=((UPDATE + COMMENT + STEPPED, COMMENT + STEPPED + UPDATE),),
        caught_by={"stepped_tells_what_the_optimizer_did"},
        forms=(
            # both readings after update
            ((OLD_SCALE, ""), (COMMENT, COMMENT + OLD_SCALE)),
        ),
    ),
    Mistake(
        id="stepped-always-true",
        says="You say that the optimizer stepped whatever happened. Look at what the "
        "second value is for.",
        edits=((RETURN, "    return loss.item(), True\n"),),
        caught_by={"stepped_tells_what_the_optimizer_did"},
    ),
    Mistake(
        id="stepped-by-finite-loss",
        says="You take a finite loss for a step: the loss may be finite while a scaled "
        "gradient overflows. Look at what the scaler judges.",
        edits=((STEPPED, "    stepped = bool(torch.isfinite(loss))\n"),),
        caught_by={
            "stepped_tells_what_the_optimizer_did",
            "the_scheduler_follows_real_steps",
        },
        forms=(
            ((STEPPED, "    stepped = bool(torch.isfinite(scaler.scale(loss)))\n"),),
            (
                ("import torch\n", "import math\n\nimport torch\n"),
                (STEPPED, "    stepped = math.isfinite(loss.item())\n"),
            ),
        ),
    ),
    Mistake(
        id="stepped-by-clipped-norm",
        says="You look at the norm that clipping returns: without max_norm there is "
        "none, and every step counts as real. Look at the case max_norm=None.",
        edits=(
            (CLIP, CLIP.replace("nn.utils", "norm = nn.utils")),
            (IF_CLIP, "    norm = torch.zeros(())\n" + IF_CLIP),
            (STEPPED, "    stepped = bool(torch.isfinite(norm))\n"),
        ),
        caught_by={"stepped_tells_what_the_optimizer_did"},
    ),
    Mistake(
        id="stepped-by-return-value",
        says="You read a step out of what scaler.step returns: that is None on a real "
        "step as well. Look at what the optimizer's step returns.",
        edits=(
            (STEP, "    result = scaler.step(optimizer)\n"),
            (STEPPED, "    stepped = result is not None\n"),
        ),
        caught_by={"stepped_tells_what_the_optimizer_did"},
    ),
    Mistake(
        id="stepped-by-one-gradient",
        says="You look at one parameter's gradient: any other may have overflowed. Look "
        "at what the scaler judges.",
        edits=(
            (
                STEPPED,
                "    first = next(p for p in model.parameters() if p.grad is not None)\n"
                "    stepped = bool(first.grad.isfinite().all())\n",
            ),
        ),
        caught_by={
            "one_bad_gradient_is_an_overflow",
            "too_large_a_scale_comes_down",
        },
    ),
    Mistake(
        id="stepped-inverted",
        says="You return whether the step was skipped. Look at the name.",
        edits=((STEPPED, STEPPED.replace(">=", "<")),),
        caught_by={"stepped_tells_what_the_optimizer_did"},
    ),
    Mistake(
        id="returns-loss-alone",
        says="You return the loss alone. Look at the signature.",
        edits=((RETURN, "    return loss.item()\n"),),
        caught_by={"returns_a_float_and_a_bool"},
    ),
    Mistake(
        id="returns-stepped-first",
        says="You return the two values in the wrong order. Look at the signature.",
        edits=((RETURN, "    return stepped, loss.item()\n"),),
        caught_by={"returns_a_float_and_a_bool"},
    ),
    Mistake(
        id="returns-tensor",
        says="You return a tensor where a plain value is asked. Look at the types.",
        edits=((RETURN, "    return loss.detach(), stepped\n"),),
        caught_by={"returns_a_float_and_a_bool"},
        forms=(
            ((RETURN, "    return loss, stepped\n"),),
            ((RETURN, "    return loss.item(), torch.tensor(stepped)\n"),),
            ((RETURN, "    return loss.item(), int(stepped)\n"),),
            ((RETURN, "    return [loss.item(), stepped]\n"),),
        ),
    ),
    Mistake(
        id="reports-scaled-loss",
        says="You report the scaled loss: the number jumps whenever the scale does. "
        "Look at which loss is returned.",
        edits=((BACKWARD, "    loss = scaler.scale(loss)\n    loss.backward()\n"),),
        caught_by={"the_returned_loss_is_not_scaled"},
        source="facebookresearch/fairchem#617",
        forms=(
            # undone with the scale that update() has just changed
            (
                (BACKWARD, "    loss = scaler.scale(loss)\n    loss.backward()\n"),
                (RETURN, "    return loss.item() / scaler.get_scale(), stepped\n"),
            ),
            ((RETURN, "    return loss.item() / old_scale, stepped\n"),),
        ),
    ),
    Mistake(
        id="loss-after-update",
        says="You measure the loss after the update, by a second forward: it flatters "
        "the model. Look at which forward the reported loss comes from.",
        edits=(
            (
                RETURN,
                "    with torch.no_grad(), torch.autocast(device_type, dtype=dtype):\n"
                + LOSS
                + RETURN,
            ),
        ),
        caught_by={
            "the_forward_runs_inside_autocast",
            "the_returned_loss_is_not_scaled",
        },
    ),
    Mistake(
        id="extra-forward",
        says="You call the model twice: BatchNorm's statistics move twice and dropout "
        "draws another mask. Look at what the forward gave.",
        edits=((LOSS, "        model(features)\n" + LOSS),),
        caught_by={"the_forward_runs_inside_autocast"},
    ),
    Mistake(
        id="sum-reduction",
        says="You train on the sum of the losses, not their mean. Look at the "
        "reduction.",
        edits=((LOSS, LOSS.replace("targets)", 'targets, reduction="sum")')),),
        caught_by={GRADIENT},
        forms=(
            (
                (LOSS, LOSS.replace("targets)", 'targets, reduction="sum")')),
                (RETURN, "    return loss.item() / len(targets), stepped\n"),
            ),
        ),
    ),
    Mistake(
        id="softmax-before-ce",
        says="You apply softmax before cross entropy, which takes raw logits. Look at "
        "what goes into the loss.",
        edits=((LOSS, LOSS.replace("model(features)", "model(features).softmax(1)")),),
        caught_by={GRADIENT},
        source="Lightning-Universe/lightning-bolts#654",
    ),
    Mistake(
        id="rounds-result",
        says="You round the loss: small improvements vanish. Look at the last line.",
        edits=((RETURN, "    return round(loss.item(), 3), stepped\n"),),
        caught_by={"a_small_loss_is_not_rounded"},
    ),
    Mistake(
        id="no-zero-grad",
        says="You never clear the gradients: each call uses all the calls before, and "
        "one infinity stays for ever. Look at what .grad holds when backward begins.",
        edits=((CLEAR, ""),),
        caught_by={"no_gradient_leaks_into_the_step"},
        source="Stack Overflow 60335387",
    ),
    Mistake(
        id="zero-grad-after-step",
        says="You clear only at the end: what .grad held when you were first called "
        "goes into the update, still unscaled. Look at the first call.",
        edits=((CLEAR, ""), (RETURN, CLEAR + RETURN)),
        caught_by={"no_gradient_leaks_into_the_step"},
    ),
    Mistake(
        id="zero-grad-on-real-steps-only",
        says="You clear only after a real step: an infinity from a skipped one stays, "
        "and every later step is skipped too. Look at what a skip leaves in .grad.",
        edits=(
            (CLEAR, ""),
            (
                IF_SCHEDULE,
                "    if stepped:\n        optimizer.zero_grad()\n" + IF_SCHEDULE,
            ),
        ),
        caught_by={"no_gradient_leaks_into_the_step"},
        forms=(
            # what was there before the first call is cleared
            (
                (
                    CLEAR,
                    "    if scaler.state_dict().get('_growth_tracker', 0) == 0:\n    "
                    + CLEAR,
                ),
            ),
        ),
    ),
    Mistake(
        id="overflow-leaks-into-next-call",
        says="You keep the gradients of a skipped step: what is not finite stays, and "
        "every later step is skipped too. Look at when you clear.",
        edits=(
            (
                CLEAR,
                "    dirty = any(\n"
                "        p.grad is not None and not bool(p.grad.isfinite().all())\n"
                "        for p in model.parameters()\n"
                "    )\n"
                "    if not dirty:\n    " + CLEAR,
            ),
        ),
        caught_by={"an_overflow_leaves_nothing_behind"},
    ),
    Mistake(
        id="zero-grad-after-backward",
        says="You clear the gradients between backward and step: nothing is left to "
        "step on. Look at the order of the calls.",
        edits=((CLEAR, ""), (BACKWARD, BACKWARD + CLEAR)),
        caught_by={GUARD},
    ),
    Mistake(
        id="zero-grad-to-zero-after-backward",
        says="You set the gradients to zero between backward and step: the step finds "
        "zeros, and an overflow is never seen. Look at the order of the calls.",
        edits=(
            (CLEAR, ""),
            (BACKWARD, BACKWARD + "    optimizer.zero_grad(set_to_none=False)\n"),
        ),
        caught_by={GRADIENT},
    ),
    Mistake(
        id="no-step",
        says="You never step. Look at what moves the model.",
        edits=(
            (STEP, "    scaler.unscale_(optimizer) if max_norm is None else None\n"),
        ),
        caught_by={GRADIENT},
    ),
    Mistake(
        id="step-before-backward",
        says="You step before backward: there is no gradient yet. Look at the order.",
        edits=((STEP, ""), (BACKWARD, STEP + BACKWARD)),
        caught_by={GUARD},
    ),
    Mistake(
        id="writes-the-update-out",
        says="You subtract lr times the gradient yourself: momentum, decay and Adam "
        "never happen. Look at what the optimizer is for.",
        edits=(
            (
                STEP,
                "    scaler.unscale_(optimizer) if max_norm is None else None\n"
                "    gradients = [p.grad for p in model.parameters() if p.grad is not None]\n"
                "    if all(bool(g.isfinite().all()) for g in gradients):\n"
                "        with torch.no_grad():\n"
                "            for group in optimizer.param_groups:\n"
                "                for p in group['params']:\n"
                "                    p -= group['lr'] * p.grad\n",
            ),
        ),
        caught_by={GRADIENT},
    ),
    Mistake(
        id="forgets-optimizer-state",
        says="You throw the optimizer's state away: momentum starts anew in each call. "
        "Look at what you reset.",
        edits=((CLEAR, CLEAR + "    optimizer.state.clear()\n"),),
        caught_by={"an_overflow_changes_no_parameter"},
    ),
    Mistake(
        id="buffers-stay-behind",
        says="You forward with copies of the buffers: BatchNorm's running statistics never "
        "move, and the evaluation uses those of the start. Look at what a forward in train "
        "mode changes besides gradients.",
        edits=(
            (
                LOSS,
                "        buffers = {n: b.clone() for n, b in model.named_buffers()}\n"
                "        logits = torch.func.functional_call(model, buffers, (features,))\n"
                "        loss = F.cross_entropy(logits, targets)\n",
            ),
        ),
        caught_by={"trains_every_network_with_every_optimizer"},
        forms=(
            # put back after the step, with all else that is in the state_dict
            (
                (
                    AUTOCAST,
                    "    buffers = {n: b.clone() for n, b in model.named_buffers()}\n"
                    + AUTOCAST,
                ),
                (RETURN, "    model.load_state_dict(buffers, strict=False)\n" + RETURN),
            ),
        ),
    ),
    Mistake(
        id="leaves-eval-mode",
        says="You leave the model in eval mode. Look at the last mode set.",
        edits=((RETURN, "    model.eval()\n" + RETURN),),
        caught_by={"inputs_and_modes_stay"},
        forms=(((CLEAR, CLEAR + "    model.eval()\n"),),),
    ),
    Mistake(
        id="changes-inputs",
        says="You change the features in place: they are the caller's. Look at methods "
        "that end in an underscore.",
        edits=((RETURN, "    features.zero_()\n" + RETURN),),
        caught_by={"inputs_and_modes_stay"},
        forms=(((CLEAR, CLEAR + "    features.sub_(features.mean())\n"),),),
    ),
    Mistake(
        id="unfreezes-parameters",
        says="You switch requires_grad on for every parameter: what the caller froze "
        "thaws. Look at what you change before the step.",
        edits=((CLEAR, CLEAR + "    model.requires_grad_(True)\n"),),
        caught_by={"inputs_and_modes_stay"},
    ),
    Mistake(
        id="leaves-autocast-on",
        says="You switch on a setting of torch (autocast, the dtype that it takes, "
        "anomaly detection) and leave it so: it holds for everything after you. Look at "
        "what outlives the call.",
        edits=(
            (RETURN, "    torch.set_autocast_enabled(device_type, True)\n" + RETURN),
        ),
        caught_by={"global_state_stays"},
        forms=(
            ((CLEAR, CLEAR + "    torch.autograd.set_detect_anomaly(True)\n"),),
            ((CLEAR, CLEAR + "    torch.set_autocast_dtype(device_type, dtype)\n"),),
        ),
    ),
    Mistake(
        id="reseeds",
        says="You seed the global random state: every step then drops the same units. "
        "Look at what is not yours to set.",
        edits=((CLEAR, "    torch.manual_seed(0)\n" + CLEAR),),
        caught_by={"global_state_stays"},
    ),
    # Right, however unusual.
    Mistake(
        id="loss-outside-on-float-logits",
        says="Cross entropy outside autocast, on the logits made float32.",
        edits=(
            (
                LOSS,
                "        logits = model(features)\n"
                "    loss = F.cross_entropy(logits.float(), targets)\n",
            ),
        ),
    ),
    Mistake(
        id="nll-of-log-softmax",
        says="nll_loss(log_softmax) inside autocast: the loss is float32.",
        edits=(
            (
                LOSS,
                "        logits = model(features)\n"
                "        loss = F.nll_loss(F.log_softmax(logits, dim=-1), targets)\n",
            ),
        ),
    ),
    Mistake(
        id="sum-divided-by-count",
        says="A summed loss divided by the count is the mean.",
        edits=(
            (
                LOSS,
                "        logits = model(features)\n"
                "        summed = F.cross_entropy(logits, targets, reduction='sum')\n"
                "        loss = summed / targets.size(0)\n",
            ),
        ),
    ),
    Mistake(
        id="always-unscales",
        says="Unscaling in every call, clipping or not.",
        edits=((IF_CLIP + UNSCALE, "    scaler.unscale_(optimizer)\n" + IF_CLIP),),
    ),
    Mistake(
        id="clips-to-infinity",
        says="A limit of infinity is none.",
        edits=(
            (
                IF_CLIP + UNSCALE + CLIP,
                "    limit = float('inf') if max_norm is None else max_norm\n"
                "    scaler.unscale_(optimizer)\n"
                "    owned = [p for group in optimizer.param_groups for p in group['params']]\n"
                "    nn.utils.clip_grad_norm_(owned, limit, foreach=False)\n",
            ),
        ),
    ),
    Mistake(
        id="clips-by-hand",
        says="The norm of the norms and a factor of at most one, without torch's epsilon.",
        edits=(
            (
                CLIP,
                "        grads = [p.grad for p in model.parameters() if p.grad is not None]\n"
                "        norm = torch.linalg.vector_norm(torch.cat([g.flatten() for g in grads]))\n"
                "        if norm > max_norm:\n"
                "            for grad in grads:\n"
                "                grad.mul_(max_norm / norm)\n",
            ),
        ),
    ),
    Mistake(
        id="clips-scaled-to-scaled-limit",
        says="A limit multiplied by the scale, on scaled gradients, is the same limit.",
        edits=(
            (UNSCALE, ""),
            (CLIP, CLIP.replace("max_norm)", "max_norm * scaler.get_scale())")),
        ),
    ),
    Mistake(
        id="step-hook",
        says="A hook on the optimizer tells whether it stepped.",
        edits=BY_HOOK,
    ),
    Mistake(
        id="compares-parameters",
        says="Parameters that moved tell that the optimizer stepped.",
        edits=(
            (OLD_SCALE, "    old = [p.detach().clone() for p in model.parameters()]\n"),
            (
                STEPPED,
                "    stepped = any(\n"
                "        not torch.equal(a, b) for a, b in zip(old, model.parameters())\n"
                "    )\n",
            ),
        ),
    ),
    Mistake(
        id="not-smaller",
        says="Not smaller is the same question.",
        edits=((STEPPED, "    stepped = not scaler.get_scale() < old_scale\n"),),
    ),
    Mistake(
        id="autograd-grad",
        says="torch.autograd.grad with the gradients assigned by hand.",
        edits=(
            (CLEAR, ""),
            (
                BACKWARD,
                "    trainable = [p for p in model.parameters() if p.requires_grad]\n"
                "    grads = torch.autograd.grad(scaler.scale(loss), trainable)\n"
                "    for parameter, grad in zip(trainable, grads):\n"
                "        parameter.grad = grad\n",
            ),
        ),
    ),
    Mistake(
        id="clears-to-zero-after-forward",
        says="Clearing to zeros, by the model, between forward and backward.",
        edits=(
            (CLEAR, ""),
            (BACKWARD, "    model.zero_grad(set_to_none=False)\n" + BACKWARD),
        ),
    ),
    Mistake(
        id="clears-before-and-after",
        says="Clearing at the end as well leaves nothing behind.",
        edits=((RETURN, CLEAR + RETURN),),
    ),
    Mistake(
        id="skips-by-itself",
        says="Finding the overflow by hand and leaving scaler.step out is the same.",
        edits=(
            (
                STEP,
                "    if max_norm is None:\n"
                "        scaler.unscale_(optimizer)\n"
                "    grads = [p.grad for p in model.parameters() if p.grad is not None]\n"
                "    finite = all(bool(torch.isfinite(g).all()) for g in grads)\n"
                "    if finite:\n"
                "        scaler.step(optimizer)\n",
            ),
            (STEPPED, "    stepped = finite\n"),
        ),
    ),
    Mistake(
        id="autocast-as-decorator",
        says="Autocast as a decorator of a helper, with a named tuple returned.",
        rewrite="""
from typing import NamedTuple

import torch


class Outcome(NamedTuple):
    loss: float
    stepped: bool


def amp_step(
    model,
    features,
    targets,
    optimizer,
    scaler,
    *,
    scheduler=None,
    max_norm=None,
    device_type="cpu",
    dtype=torch.float16,
):
    criterion = torch.nn.CrossEntropyLoss()

    @torch.amp.autocast(device_type=device_type, dtype=dtype)
    def compute_loss():
        return criterion(model(features), targets)

    model.train()
    for parameter in model.parameters():
        parameter.grad = None
    loss = compute_loss()
    torch.autograd.backward(scaler.scale(loss))
    if max_norm is not None:
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.get_total_norm(
            [p.grad for p in model.parameters() if p.grad is not None]
        )
        torch.nn.utils.clip_grads_with_norm_(model.parameters(), max_norm, norm)
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    skipped = before > scaler.get_scale()
    if not skipped:
        if scheduler is not None:
            scheduler.step()
    return Outcome(float(loss), not skipped)
""",
    ),
    Mistake(
        id="class-with-parts",
        says="A class with a method for each part, and an ExitStack for autocast.",
        rewrite="""
import contextlib
import math

import torch


class _Step:
    def __init__(self, model, optimizer, scaler, limit):
        self.model, self.optimizer, self.scaler = model, optimizer, scaler
        self.limit = math.inf if limit is None else float(limit)
        self.happened = False

    def _note(self, optimizer, args, kwargs):
        self.happened = True

    def forward(self, x, y, device_type, dtype):
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.autocast(device_type=device_type, dtype=dtype))
            logits = self.model.forward(x)
        logits = logits.to(torch.float32)
        return -torch.log_softmax(logits, 1)[torch.arange(len(y)), y].mean()

    def backward(self, loss):
        self.optimizer.zero_grad(set_to_none=False)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)

    def clip(self):
        grads = [p.grad for p in self.model.parameters() if p.grad is not None]
        norm = torch.stack([g.double().pow(2).sum() for g in grads]).sum().sqrt().item()
        if norm > self.limit:
            torch._foreach_mul_(grads, self.limit / norm)

    def update(self):
        handle = self.optimizer.register_step_post_hook(self._note)
        try:
            self.scaler.step(self.optimizer)
        finally:
            handle.remove()
            self.scaler.update()
        return self.happened


def amp_step(model, features, targets, optimizer, scaler, **options):
    step = _Step(model, optimizer, scaler, options.get("max_norm"))
    loss = step.forward(
        features,
        targets,
        options.get("device_type", "cpu"),
        options.get("dtype", torch.float16),
    )
    step.backward(loss)
    step.clip()
    stepped = step.update()
    if stepped and options.get("scheduler"):
        options["scheduler"].step()
    return loss.tolist(), stepped
""",
    ),
    Mistake(
        id="functional",
        says="torch.func over functional_call, gradients assigned, state counted.",
        rewrite="""
import torch
from torch.func import functional_call, grad_and_value
from torch.nn.functional import cross_entropy


def amp_step(model, features, targets, optimizer, scaler, *, scheduler=None,
             max_norm=None, device_type="cpu", dtype=torch.float16):
    weights = {n: p for n, p in model.named_parameters() if p.requires_grad}

    def scaled_loss(weights):
        with torch.autocast(device_type, dtype=dtype, cache_enabled=False):
            logits = functional_call(model, weights, (features,))
        loss = cross_entropy(logits.float(), targets)
        return loss * scale, loss

    scale = scaler.scale(torch.ones((), device=features.device))
    if any(True for _ in model.buffers()):  # BatchNorm counts in place
        parameters = list(weights.values())
        total, loss = scaled_loss(weights)
        grads = dict(zip(weights, torch.autograd.grad(total, parameters)))
    else:
        grads, (_, loss) = grad_and_value(scaled_loss, has_aux=True)(
            {n: p.detach() for n, p in weights.items()}
        )
    for name, parameter in weights.items():
        parameter.grad = grads[name].detach()
    if max_norm is not None:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(weights.values(), max_norm)
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    stepped = before <= scaler.get_scale()
    if stepped:
        scheduler and scheduler.step()
    return loss.item(), stepped
""",
    ),
    Mistake(
        id="verbose-beginner",
        says="Long, with many variables, try and finally, and every branch spelt out.",
        rewrite="""
import torch
import torch.nn as nn


def amp_step(model, features, targets, optimizer, scaler, *, scheduler=None,
             max_norm=None, device_type="cpu", dtype=torch.float16):
    loss_function = nn.CrossEntropyLoss(reduction="mean")
    # 1. remove the old gradients
    optimizer.zero_grad(set_to_none=True)
    model.zero_grad()
    # 2. forward in mixed precision
    autocast_context = torch.autocast(device_type=device_type, dtype=dtype, enabled=True)
    autocast_context.__enter__()
    try:
        outputs = model(features)
        loss = loss_function(outputs, targets)
    finally:
        autocast_context.__exit__(None, None, None)
    loss_value = loss.detach().cpu().numpy().item()
    # 3. backward
    scaled_loss = scaler.scale(loss)
    scaled_loss.backward()
    # 4. clipping
    if max_norm is None:
        pass
    else:
        scaler.unscale_(optimizer)
        parameters_to_clip = []
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameters_to_clip.append(parameter)
        torch.nn.utils.clip_grad_norm_(parameters_to_clip, max_norm=max_norm, norm_type=2.0)
    # 5. step
    scale_before_update = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    scale_after_update = scaler.get_scale()
    if scale_after_update < scale_before_update:
        optimizer_was_run = False
    else:
        optimizer_was_run = True
    # 6. scheduler
    if scheduler is not None:
        if optimizer_was_run == True:
            scheduler.step()
    return (loss_value, optimizer_was_run)
""",
    ),
)
