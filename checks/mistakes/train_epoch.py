"""What people get wrong in `train_epoch`, and unusual code that is right."""

from checks.mistakes import Mistake

CLEAR = "        optimizer.zero_grad()\n"
LOSS = "        loss = F.cross_entropy(model(features), targets)\n"
BACKWARD = "        loss.backward()\n"
STEP = "        optimizer.step()\n"
ITEM = (
    "        # .item() lets the graph go; on a GPU it waits for the batch to finish.\n"
)
ADD = "        total_loss += loss.item() * len(targets)\n"
COUNT = "        num_samples += len(targets)\n"
START = "    total_loss, num_samples = 0.0, 0\n"
LOOP = "    for features, targets in batches:\n"
GUARD = "        if len(targets) == 0:\n            continue\n"
MOVE = "        features, targets = features.to(device), targets.to(device)\n"
END = "    if num_samples == 0:\n"
RAISE = (
    '        raise ValueError("no samples: every batch was empty, or there was none")\n'
)
MEAN = "    return total_loss / num_samples\n"

MISTAKES = (
    Mistake(
        id="no-zero-grad",
        says="You never clear the gradients: each update uses the sum of all batches "
        "so far. Look at what .grad holds when backward begins.",
        edits=((CLEAR, ""),),
        caught_by={
            "no_gradient_leaks",
            "no_gradient_leaks_from_before_the_call",
            "two_sgd_steps_match_numpy",
        },
        source="Stack Overflow 60335387",
    ),
    Mistake(
        id="zero-grad-once",
        says="You clear the gradients once, before the loop: from the second batch on "
        "each update also uses the batches before. Look at where the clearing stands.",
        edits=((CLEAR, ""), (LOOP, "    optimizer.zero_grad()\n" + LOOP)),
        caught_by={"no_gradient_leaks"},
        source="pytorch/pytorch#47175",
    ),
    Mistake(
        id="no-backward",
        says="You never go backward: the optimizer steps without a gradient, and the "
        "model stays as it was. Look at what comes before the step.",
        edits=((BACKWARD, ""),),
        caught_by={"a_step_follows_the_gradient_of_its_batch"},
    ),
    Mistake(
        id="zero-grad-after-backward",
        says="You clear the gradients between backward and step: the step finds "
        "nothing, and the model never learns. Look at the order of the three calls.",
        edits=((CLEAR, ""), (BACKWARD, BACKWARD + CLEAR)),
        caught_by={"a_step_follows_the_gradient_of_its_batch"},
    ),
    Mistake(
        id="entry-grad-leaks",
        says="You clear only after the step: what .grad held when you were called goes "
        "into the first update. Look at the first batch.",
        edits=((CLEAR, ""), (STEP, STEP + CLEAR)),
        caught_by={"no_gradient_leaks_from_before_the_call"},
        source="karpathy/llm.c#548",
    ),
    Mistake(
        id="mean-of-batch-means",
        says="Your loss is the mean of the batch means: a short last batch counts as "
        "much as a full one. Look at what each batch's loss is multiplied by.",
        edits=(
            (ADD, "        total_loss += loss.item()\n"),
            (COUNT, "        num_samples += 1\n"),
        ),
        caught_by={
            "batches_of_4_and_1_weigh_to_1_4",
            "mean_loss_weighs_every_sample_once",
        },
        source="Lightning-AI/pytorch-lightning#2924",
    ),
    Mistake(
        id="divides-by-batches",
        says="You weigh each loss by its batch's size and then divide by the number of "
        "batches. Look at the divisor: it must count samples.",
        edits=((COUNT, "        num_samples += 1\n"),),
        caught_by={
            "batches_of_4_and_1_weigh_to_1_4",
            "mean_loss_weighs_every_sample_once",
        },
    ),
    Mistake(
        id="sum-of-means-by-samples",
        says="You add up batch means and divide by the number of samples: the loss is "
        "too small by about the batch size. Look at what is added up.",
        edits=((ADD, "        total_loss += loss.item()\n"),),
        caught_by={"batches_of_4_and_1_weigh_to_1_4"},
        source="pytorch/tutorials#1486",
    ),
    Mistake(
        id="last-batch-loss",
        says="You return the loss of the last batch as that of the epoch. Look at what "
        "is kept from one batch to the next.",
        edits=((MEAN, "    return loss.item()\n"),),
        caught_by={"batches_of_4_and_1_weigh_to_1_4"},
        source="NVIDIA/DeepLearningExamples#299",
    ),
    Mistake(
        id="weights-by-nominal-batch-size",
        says="You weigh every batch by the first one's size, so the short last batch "
        "counts for too much. Look at where the size comes from.",
        edits=(
            (START, START + "    batch_size = 0\n"),
            (MOVE, MOVE + "        batch_size = batch_size or len(targets)\n"),
            (ADD, "        total_loss += loss.item() * batch_size\n"),
        ),
        caught_by={
            "batches_of_4_and_1_weigh_to_1_4",
            "mean_loss_weighs_every_sample_once",
        },
        source="mitmul/chainer-cifar10#1",
    ),
    Mistake(
        id="softmax-before-ce",
        says="You apply softmax before cross entropy, which takes raw logits and "
        "applies log-softmax itself: the gradients come out far too small. Look at "
        "what goes into the loss.",
        edits=(("model(features), targets)", "model(features).softmax(1), targets)"),),
        caught_by={"a_step_follows_the_gradient_of_its_batch"},
        source="Lightning-Universe/lightning-bolts#654",
    ),
    Mistake(
        id="sum-reduction",
        says="You train on the sum of the batch's losses, not their mean: the update "
        "grows with the batch. Look at the loss's reduction.",
        edits=(
            (LOSS, LOSS.replace("targets)", 'targets, reduction="sum")')),
            (ADD, "        total_loss += loss.item()\n"),
        ),
        caught_by={"a_step_follows_the_gradient_of_its_batch"},
    ),
    Mistake(
        id="loss-after-update",
        says="You measure the loss after the update, by a second forward: it flatters "
        "the model. Look at which forward the reported loss comes from.",
        edits=((STEP, STEP + LOSS),),
        caught_by={
            "loss_is_measured_before_each_update",
            "calls_the_model_once_a_batch",
        },
    ),
    Mistake(
        id="keeps-graph",
        says="You add up loss tensors with their history: every batch's graph stays in "
        "memory until the epoch ends. Look at what is added to the running total.",
        edits=(
            (ADD, "        total_loss += loss * len(targets)\n"),
            (MEAN, "    return (total_loss / num_samples).item()\n"),
        ),
        caught_by={"keeps_no_graph"},
        source="BatsResearch/labelmodels#4",
        forms=(
            (
                (START, START + "    losses = []\n"),
                (ADD, "        losses.append(loss * len(targets))\n"),
                (MEAN, "    return sum(losses).item() / num_samples\n"),
            ),
        ),
    ),
    Mistake(
        id="no-train-mode",
        says="You never put the model in train mode: coming from an evaluation, dropout "
        "is off and BatchNorm stands still. Look at what the loop relies on.",
        edits=(("    model.train()\n", ""),),
        caught_by={"trains_in_train_mode"},
        source="joeynmt/joeynmt#184",
    ),
    Mistake(
        id="leaves-eval-mode",
        says="You leave the model in eval mode at the end. Look at the last mode set.",
        edits=((MEAN, "    model.eval()\n" + MEAN),),
        caught_by={"trains_in_train_mode"},
        # the modes of entry put back
        forms=(
            (
                (
                    "    model.train()\n",
                    "    modes = [(m, m.training) for m in model.modules()]\n"
                    "    model.train()\n",
                ),
                (
                    MEAN,
                    "    for module, mode in modes:\n"
                    "        module.training = mode\n" + MEAN,
                ),
            ),
        ),
    ),
    Mistake(
        id="train-mode-too-late",
        says="You set train mode only after the first forward. Look at what comes "
        "before the loop.",
        edits=(
            ("    model.train()\n", ""),
            (STEP, STEP + "        model.train()\n"),
        ),
        caught_by={"trains_in_train_mode"},
    ),
    Mistake(
        id="train-flag-of-root-only",
        says="You set the flag of the outermost module alone: its dropout and BatchNorm "
        "children stay in eval mode. Look at what train() does for the children.",
        edits=(("    model.train()\n", "    model.training = True\n"),),
        caught_by={"trains_in_train_mode"},
    ),
    Mistake(
        id="no-empty-guard",
        says="You forward empty batches: their mean loss is NaN, which spoils the "
        "epoch's, and with momentum the step moves the model. Look at len(targets).",
        edits=((GUARD, ""),),
        caught_by={"an_empty_batch_is_passed_over"},
        forms=(
            # the loss is kept clean, the forward and the step stay
            (
                (GUARD, ""),
                (ADD, "        if len(targets):\n    " + ADD),
            ),
        ),
    ),
    Mistake(
        id="stops-at-empty-batch",
        says="You stop at the first empty batch: what comes after it is never trained "
        "on. Look at how the loop leaves it.",
        edits=((GUARD, GUARD.replace("continue", "break")),),
        caught_by={"an_empty_batch_is_passed_over"},
    ),
    Mistake(
        id="empty-batch-is-an-error",
        says="You refuse an empty batch: only an epoch without any sample is an error. "
        "Look at where you raise.",
        edits=(
            (
                GUARD,
                '        if len(targets) == 0:\n            raise ValueError("empty")\n',
            ),
        ),
        caught_by={"an_empty_batch_is_passed_over"},
    ),
    Mistake(
        id="no-samples-returns-zero",
        says="You return a number for an epoch without samples: a broken data set would "
        "look like a perfect model. Look at what there is to divide by.",
        edits=((RAISE, "        return 0.0\n"),),
        caught_by={"empty_data_is_refused"},
        forms=(
            (
                (END + RAISE, ""),
                (MEAN, "    return total_loss / max(num_samples, 1)\n"),
            ),
            ((RAISE, '        return float("nan")\n'),),
        ),
    ),
    Mistake(
        id="no-samples-divides-by-zero",
        says="You divide by zero when there was no sample: ZeroDivisionError is not the "
        "ValueError that says what is wrong. Look at the last line.",
        edits=((END + RAISE, ""),),
        caught_by={"empty_data_is_refused"},
    ),
    Mistake(
        id="asserts-instead-of-valueerror",
        says="You assert that there were samples: `python -O` drops asserts, and the "
        "caller expects ValueError. Look at what is raised.",
        edits=((END + RAISE, '    assert num_samples, "no samples"\n'),),
        caught_by={"empty_data_is_refused"},
    ),
    Mistake(
        id="counts-empty-as-batch",
        says="Your divisor counts empty batches too. Look at where the count grows.",
        edits=(
            (START, START + "    num_batches = 0\n"),
            (GUARD, "        num_batches += 1\n" + GUARD),
            (MEAN, "    return total_loss / num_batches\n"),
        ),
        caught_by={"mean_loss_weighs_every_sample_once"},
        forms=(
            (
                (START, START + "    num_batches = 0\n"),
                (GUARD, "        num_batches += 1\n" + GUARD),
                (ADD, "        total_loss += loss.item()\n"),
                (MEAN, "    return total_loss / num_batches\n"),
            ),
            (
                (
                    GUARD,
                    GUARD.replace(
                        "            continue",
                        "            num_samples += 1\n            continue",
                    ),
                ),
                (END, "    if total_loss == 0:\n"),
            ),
        ),
    ),
    Mistake(
        id="steps-once-per-epoch",
        says="You step once, after the loop: an epoch makes one update instead of one "
        "a batch. Look at the indentation of the step.",
        edits=((STEP, ""), (END, "    optimizer.step()\n" + END)),
        caught_by={"steps_once_for_each_batch"},
        forms=(
            # cleared for each batch, so that the last one alone is applied
            (
                (STEP, ""),
                (MEAN, "    optimizer.step()\n" + MEAN),
            ),
            (
                (CLEAR, ""),
                (STEP, ""),
                (LOOP, "    optimizer.zero_grad()\n" + LOOP),
                (MEAN, "    optimizer.step()\n" + MEAN),
            ),
        ),
    ),
    Mistake(
        id="no-step",
        says="You never step: the gradients are computed and nothing uses them. Look at "
        "what comes after backward.",
        edits=((STEP, ""),),
        caught_by={"steps_once_for_each_batch"},
    ),
    Mistake(
        id="step-before-backward",
        says="You step before backward: the first update finds no gradient. Look at the "
        "order of the calls.",
        edits=((BACKWARD + STEP, STEP + BACKWARD),),
        caught_by={"a_step_follows_the_gradient_of_its_batch"},
        forms=(
            # the gradients of the batch before, one update late
            ((CLEAR, ""), (BACKWARD + STEP, STEP + CLEAR + BACKWARD)),
            (
                (LOOP, "    optimizer.zero_grad()\n" + LOOP),
                (CLEAR, STEP + CLEAR),
                (BACKWARD + STEP, BACKWARD),
            ),
        ),
    ),
    Mistake(
        id="steps-twice",
        says="You step twice on each batch's gradient. Look at what moves the model.",
        edits=((STEP, STEP + STEP),),
        caught_by={"steps_once_for_each_batch"},
    ),
    Mistake(
        id="skips-last-batch",
        says="You leave out the last batch. Look at how the loop ends.",
        edits=(
            (
                LOOP,
                "    previous = None\n    for following in batches:\n"
                "        if previous is None:\n            previous = following\n"
                "            continue\n"
                "        (features, targets), previous = previous, following\n",
            ),
        ),
        caught_by={"steps_once_for_each_batch"},
        source="OpenADMET/openadmet-models#571",
    ),
    Mistake(
        id="second-pass-loss",
        says="You measure the loss by a second pass after training: that is another "
        "model's loss, at twice the cost. Look at where the forwards are.",
        edits=(
            (LOOP, "    seen = []\n" + LOOP),
            (ADD, "        seen.append((features, targets))\n"),
            (
                END,
                "    with torch.no_grad():\n"
                "        for features, targets in seen:\n"
                "            loss = F.cross_entropy(model(features), targets)\n"
                "            total_loss += loss.item() * len(targets)\n" + END,
            ),
        ),
        caught_by={
            "loss_is_measured_before_each_update",
            "calls_the_model_once_a_batch",
        },
    ),
    Mistake(
        id="extra-forward",
        says="You call the model twice a batch: BatchNorm's statistics move twice and "
        "dropout draws another mask for the report. Look at what the forward gave.",
        edits=((LOSS, "        model(features)\n" + LOSS),),
        caught_by={"calls_the_model_once_a_batch"},
        forms=(
            (
                (
                    ADD,
                    "        with torch.no_grad():\n"
                    "            model(features).argmax(1)\n" + ADD,
                ),
            ),
        ),
    ),
    Mistake(
        id="forwards-before-steps",
        says="You forward all batches before the first step: later gradients belong to "
        "parameters that are gone. Look at what each forward sees.",
        edits=(
            (LOOP, "    pending = []\n" + LOOP),
            (CLEAR, ""),
            (
                LOSS + BACKWARD + STEP,
                LOSS + "        pending.append((loss, len(targets)))\n",
            ),
            (ITEM + ADD, ""),
            (
                END,
                "    parameters = [p for p in model.parameters() if p.requires_grad]\n"
                "    grads = [torch.autograd.grad(loss, parameters) for loss, _ in pending]\n"
                "    for (loss, size), grad in zip(pending, grads):\n"
                "        for parameter, g in zip(parameters, grad):\n"
                "            parameter.grad = g\n"
                "        optimizer.step()\n"
                "        total_loss += loss.item() * size\n" + END,
            ),
        ),
        caught_by={
            "each_forward_sees_the_step_before",
            "batches_are_read_one_at_a_time",
        },
    ),
    Mistake(
        id="bypasses-the-optimizer",
        says="The optimizer that you were given never steps: its momentum, decay or "
        "moments have no part in the update. Look at what moves the parameters.",
        edits=(
            (
                START,
                "    optimizer = type(optimizer)(\n"
                "        [p for p in model.parameters() if p.requires_grad],\n"
                "        **optimizer.defaults,\n"
                "    )\n" + START,
            ),
        ),
        caught_by={"steps_once_for_each_batch"},
        source="euancrabtree/Lipreading-PyTorch#7",
        forms=(
            # the update written out
            (
                (
                    STEP,
                    "        with torch.no_grad():\n"
                    "            for group in optimizer.param_groups:\n"
                    "                for p in group['params']:\n"
                    "                    p -= group['lr'] * p.grad\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="forgets-optimizer-state",
        says="You throw the optimizer's state away at each call: momentum and Adam's "
        "moments start anew each epoch. Look at what you reset before the loop.",
        edits=((START, "    optimizer.state.clear()\n" + START),),
        caught_by={"trains_every_network_with_every_optimizer"},
    ),
    Mistake(
        id="len-of-batches",
        says="You ask the batches for their length: a generator has none. Look at what "
        "you need it for.",
        edits=((START, START + "    num_batches = len(batches)\n"),),
        caught_by={"batches_are_read_one_at_a_time"},
    ),
    Mistake(
        id="divides-by-dataset-length",
        says="You divide by len(batches.dataset): a generator has no data set, and a "
        "sampler uses a part of it. Look at what the loop can count itself.",
        edits=((MEAN, "    return total_loss / len(batches.dataset)\n"),),
        caught_by={"batches_of_4_and_1_weigh_to_1_4"},
        source="pytorch/examples#1396",
    ),
    Mistake(
        id="materialises-batches",
        says="You collect all batches before training on the first: an endless or large "
        "stream fills the memory. Look at what is read before the first step.",
        edits=((LOOP, "    batches = list(batches)\n" + LOOP),),
        caught_by={"batches_are_read_one_at_a_time"},
    ),
    Mistake(
        id="reads-ahead",
        says="You take the next batch before the present one is trained on. Look at when "
        "the stream is asked.",
        edits=(
            (
                LOOP,
                "    stream = iter(batches)\n"
                "    following = next(stream, None)\n"
                "    while following is not None:\n"
                "        features, targets = following\n"
                "        following = next(stream, None)\n",
            ),
        ),
        caught_by={"batches_are_read_one_at_a_time"},
    ),
    Mistake(
        id="counts-in-a-first-pass",
        says="You go through the batches once to count and once to train: a generator "
        "is empty the second time. Look at how often you iterate.",
        edits=(
            (
                START,
                "    total_loss = 0.0\n"
                "    num_samples = sum(len(targets) for _, targets in batches)\n",
            ),
            (COUNT, ""),
        ),
        caught_by={"batches_are_read_one_at_a_time", "batches_are_gone_through_once"},
    ),
    Mistake(
        id="targets-not-moved",
        says="You move the features and not the targets: on a GPU the loss fails. Look "
        "at what meets the logits.",
        edits=((MOVE, "        features = features.to(device)\n"),),
        caught_by={"moves_batches_to_the_device"},
    ),
    Mistake(
        id="features-not-moved",
        says="You move the targets and not the features: on a GPU the first layer "
        "fails. Look at what goes into the model.",
        edits=((MOVE, "        targets = targets.to(device)\n"),),
        caught_by={"moves_batches_to_the_device"},
        # moved to where the targets are, which is not here yet
        forms=(
            (
                (
                    MOVE,
                    "        features = features.to(targets.device)\n"
                    "        targets = targets.to(device)\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="returns-nothing",
        says="You return nothing: the caller gets None. Look at the last line.",
        edits=((MEAN, ""),),
        caught_by={"returns_a_float"},
    ),
    Mistake(
        id="returns-tensor",
        says="You return a tensor where a float is asked. Look at the type of the total.",
        edits=((ADD, "        total_loss += loss.detach() * len(targets)\n"),),
        caught_by={"returns_a_float"},
    ),
    Mistake(
        id="rounds-result",
        says="You round the loss: small improvements vanish. Look at the last line.",
        edits=((MEAN, "    return round(total_loss / num_samples, 3)\n"),),
        caught_by={"mean_loss_weighs_every_sample_once"},
    ),
    Mistake(
        id="changes-inputs",
        says="You change the features in place: they are the caller's, and worn out a "
        "little more each epoch. Look at methods that end in an underscore.",
        edits=((MOVE, MOVE + "        features.sub_(features.mean())\n"),),
        caught_by={"inputs_and_requires_grad_stay"},
        forms=(
            (
                (
                    MOVE,
                    MOVE
                    + "        features.requires_grad_(features.is_floating_point())\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="casts-features",
        says="You cast the features: a float64 or half model then fails or loses digits. "
        "Look at what reaches the model.",
        edits=((MOVE, MOVE + "        features = features.float().double()\n"),),
        caught_by={"inputs_and_requires_grad_stay"},
        forms=(
            ((MOVE, MOVE + "        features = features.double()\n"),),
            ((MOVE, MOVE + "        features = features.flatten(1).float()\n"),),
        ),
    ),
    Mistake(
        id="flattens-features",
        says="You reshape the features: what shape the model takes is its own affair, "
        "an image has more than two dimensions. Look at what reaches the model.",
        edits=((MOVE, MOVE + "        features = features.flatten(1)\n"),),
        caught_by={"inputs_and_requires_grad_stay"},
    ),
    Mistake(
        id="averages-a-window",
        says="You average the last batches only, not the epoch: early ones drop out of "
        "the meter. Look at how long it remembers.",
        edits=(
            (
                "from collections.abc",
                "from collections import deque\nfrom collections.abc",
            ),
            (START, "    window, num_samples = deque(maxlen=20), 0\n"),
            (ADD, "        window.append((loss.item(), len(targets)))\n"),
            (
                MEAN,
                "    return sum(a * n for a, n in window) / sum(n for _, n in window)\n",
            ),
        ),
        caught_by={"mean_loss_weighs_every_sample_once"},
    ),
    Mistake(
        id="stops-early",
        says="You leave the loop after so many batches: the rest of the epoch is never "
        "trained on. Look at what ends the loop.",
        edits=((COUNT, COUNT + "        if num_samples > 50:\n            break\n"),),
        caught_by={"steps_once_for_each_batch"},
    ),
    Mistake(
        id="unfreezes-parameters",
        says="You switch requires_grad on for every parameter: what the caller froze "
        "thaws. Look at what you change before the loop.",
        edits=((START, "    model.requires_grad_(True)\n" + START),),
        caught_by={"inputs_and_requires_grad_stay"},
    ),
    Mistake(
        id="reseeds",
        says="You seed the global random state: every epoch then drops the same units, "
        "and the caller's seed is undone. Look at what is not yours to set.",
        edits=((START, "    torch.manual_seed(0)\n" + START),),
        caught_by={"global_state_stays"},
    ),
    Mistake(
        id="leaves-settings-changed",
        says="You switch a global setting of torch and leave it so: everything after "
        "you runs differently. Look at what outlives the call.",
        edits=((START, "    torch.autograd.set_detect_anomaly(True)\n" + START),),
        caught_by={"global_state_stays"},
        forms=(
            ((START, "    torch.backends.cudnn.benchmark = True\n" + START),),
            ((START, "    torch.set_float32_matmul_precision('high')\n" + START),),
        ),
    ),
    # Right, however unusual.
    Mistake(
        id="clears-after-the-step-and-once-before",
        says="Clearing at the end of each step and once before the first is right.",
        edits=(
            (CLEAR, ""),
            (STEP, STEP + CLEAR),
            (LOOP, "    optimizer.zero_grad()\n" + LOOP),
        ),
    ),
    Mistake(
        id="clears-between-forward-and-backward",
        says="Clearing may come anywhere before backward.",
        edits=((CLEAR, ""), (LOSS, LOSS + CLEAR)),
    ),
    Mistake(
        id="model-zero-grad-to-zero",
        says="Clearing by the model, to zeros.",
        edits=((CLEAR, "        model.zero_grad(set_to_none=False)\n"),),
    ),
    Mistake(
        id="grad-none-by-hand",
        says="Clearing by assigning None.",
        edits=(
            (
                CLEAR,
                "        for parameter in model.parameters():\n"
                "            parameter.grad = None\n",
            ),
        ),
    ),
    Mistake(
        id="closure",
        says="optimizer.step(closure) computes loss and gradients inside the step.",
        edits=(
            (CLEAR, "        def closure():\n            optimizer.zero_grad()\n"),
            (
                LOSS + BACKWARD,
                "            loss = F.cross_entropy(model(features), targets)\n"
                "            loss.backward()\n"
                "            return loss\n\n",
            ),
            (STEP, "        loss = optimizer.step(closure)\n"),
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
            (ADD, "        total_loss += summed.item()\n"),
        ),
    ),
    Mistake(
        id="nll-of-log-softmax",
        says="nll_loss(log_softmax) is cross entropy.",
        edits=(
            (
                "F.cross_entropy(model(features), targets)",
                "F.nll_loss(F.log_softmax(model(features), dim=-1), targets)",
            ),
        ),
    ),
    Mistake(
        id="logsumexp-minus-gather",
        says="Cross entropy written out.",
        edits=(
            (
                LOSS,
                "        logits = model(features)\n"
                "        picked = logits.gather(1, targets[:, None]).squeeze(1)\n"
                "        loss = (logits.logsumexp(1) - picked).mean()\n",
            ),
        ),
    ),
    Mistake(
        id="autograd-grad",
        says="torch.autograd.grad with the gradients assigned by hand.",
        edits=(
            (CLEAR, ""),
            (
                BACKWARD,
                "        parameters = [p for p in model.parameters() if p.requires_grad]\n"
                "        grads = torch.autograd.grad(loss, parameters)\n"
                "        for parameter, grad in zip(parameters, grads):\n"
                "            parameter.grad = grad\n",
            ),
        ),
    ),
    Mistake(
        id="functional-call",
        says="torch.func.grad_and_value over functional_call.",
        edits=(
            (
                CLEAR + LOSS + BACKWARD,
                "        trainable = {\n"
                "            n: p for n, p in model.named_parameters() if p.requires_grad\n"
                "        }\n\n"
                "        def loss_of(weights):\n"
                "            logits = torch.func.functional_call(model, weights, (features,))\n"
                "            return F.cross_entropy(logits, targets)\n\n"
                "        if any(True for _ in model.buffers()):  # BatchNorm counts in place\n"
                "            optimizer.zero_grad()\n"
                "            loss = F.cross_entropy(model(features), targets)\n"
                "            loss.backward()\n"
                "        else:\n"
                "            grads, loss = torch.func.grad_and_value(loss_of)(\n"
                "                {n: p.detach() for n, p in trainable.items()}\n"
                "            )\n"
                "            for name, parameter in trainable.items():\n"
                "                parameter.grad = grads[name]\n",
            ),
        ),
    ),
    Mistake(
        id="device-total",
        says="A detached float32 total on the device, read once at the end.",
        edits=(
            (
                START,
                "    total_loss = torch.zeros((), device=device)\n    num_samples = 0\n",
            ),
            (ADD, "        total_loss += loss.detach().float() * targets.numel()\n"),
            (MEAN, "    return (total_loss / num_samples).item()\n"),
        ),
    ),
    Mistake(
        id="running-mean",
        says="The mean brought up to date batch by batch.",
        edits=(
            (
                ADD + COUNT,
                "        num_samples += len(targets)\n"
                "        total_loss += (loss.item() - total_loss) * len(targets) / num_samples\n",
            ),
            (MEAN, "    return total_loss\n"),
        ),
    ),
    Mistake(
        id="lists-and-numpy",
        says="Losses and sizes kept in lists, averaged by NumPy: np.float64 is a float.",
        edits=(
            ("import torch\n", "import numpy as np\nimport torch\n"),
            (START, "    losses, sizes = [], []\n"),
            (
                ADD + COUNT,
                "        losses.append(loss.tolist())\n        sizes.append(features.shape[0])\n",
            ),
            ("    if num_samples == 0:\n", "    if not sizes:\n"),
            (MEAN, "    return np.average(losses, weights=sizes)\n"),
        ),
    ),
    Mistake(
        id="while-next-class",
        says="A class, an iterator and a try: everything else is different.",
        rewrite="""
import contextlib

import torch


class _Meter:
    def __init__(self):
        self.sum, self.n = torch.zeros((), dtype=torch.float64), 0

    def add(self, value, n):
        self.sum = self.sum + value.detach().double().cpu() * n
        self.n += n


def _one(model, x, y, optimizer, criterion):
    out = model.forward(x)
    loss = criterion(out, y)
    optimizer.zero_grad(set_to_none=False)
    torch.autograd.backward([loss])
    optimizer.step()
    return loss


def train_epoch(model, batches, optimizer, device="cpu"):
    for module in model.modules():
        module.training = True
    meter, stream = _Meter(), iter(batches)
    criterion = torch.nn.CrossEntropyLoss().to(device)
    with torch.set_grad_enabled(True), contextlib.ExitStack():
        while True:
            try:
                x, y, *_ = next(stream)
            except StopIteration:
                break
            if not y.shape[0]:
                continue
            x = x.to(torch.device(device), non_blocking=True)
            y = y.to(device=device)
            meter.add(_one(model, x, y, optimizer, criterion), y.size(0))
    if not meter.n:
        raise ValueError(f"no samples in {batches!r}")
    return (meter.sum / meter.n).item()
""",
    ),
    Mistake(
        id="moves-to-where-the-model-is",
        says="The model is on the device already, so its parameters tell where that is.",
        edits=(
            (
                MOVE,
                "        where = next(model.parameters()).device\n"
                "        features, targets = features.to(where), targets.to(where)\n",
            ),
        ),
    ),
    Mistake(
        id="subclass-of-valueerror",
        says="A ValueError of one's own.",
        edits=(
            (
                "def train_epoch(",
                "class NoSamples(ValueError):\n    pass\n\n\ndef train_epoch(",
            ),
            ("raise ValueError(", "raise NoSamples("),
        ),
    ),
)
