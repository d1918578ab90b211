"""What people get wrong in `train_epoch_accumulated`, and unusual code that is right."""

from checks.mistakes import Edits, Mistake, apply

GUARD = (
    "    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:\n"
    '        raise ValueError(f"accumulation_steps: an int from 1, not {accumulation_steps}")\n'
)
TRAIN = "    model.train()\n"
START = "    total_loss, num_samples = 0.0, 0\n"
GROUPS = "    for group in _groups(batches, accumulation_steps):\n"
SIZE = "        group_samples = sum(len(targets) for _, targets in group)\n"
CLEAR = "        optimizer.zero_grad()\n"
EACH = "        for features, targets in group:\n"
MOVE = "            features, targets = features.to(device), targets.to(device)\n"
LOSS = '            loss = F.cross_entropy(model(features), targets, reduction="sum")\n'
NOTE = (
    "            # One backward a batch: it frees the batch's graph before the next "
    "forward.\n"
)
BACKWARD = "            (loss / group_samples).backward()\n"
ADD = "            total_loss += loss.item()\n"
STEP = "        optimizer.step()\n"
COUNT = "        num_samples += group_samples\n"
END = "    if num_samples == 0:\n"
RAISE = (
    '        raise ValueError("no samples: every batch was empty, or there was none")\n'
)
MEAN = "    return total_loss / num_samples\n"
FILLED = "    filled = (batch for batch in batches if len(batch[1]))\n"
TAKE = "    while group := list(islice(filled, size)):\n"
GIVE = "        yield group\n"

MEAN_LOSS = "            loss = F.cross_entropy(model(features), targets)\n"
MEAN_ADD = "            total_loss += loss.item() * len(targets)\n"

# The other common way: one loop, a sum over samples, and a division at the step.
STREAM = """
import torch
from torch.nn import functional as F


def train_epoch_accumulated(model, batches, optimizer, accumulation_steps, device="cpu"):
    if type(accumulation_steps) is not int or accumulation_steps <= 0:
        raise ValueError("accumulation_steps must be a positive int")
    model.train()
    optimizer.zero_grad()
    total, seen = 0.0, 0
    in_group = waiting = 0

    def step():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.grad /= in_group
        optimizer.step()
        optimizer.zero_grad()

    for x, y in batches:
        n = len(y)
        if n == 0:
            continue
        x, y = x.to(device), y.to(device)
        loss = F.cross_entropy(model(x), y, reduction="sum")
        loss.backward()
        total += loss.item()
        seen += n
        in_group += n
        waiting += 1
        if waiting == accumulation_steps:
            step()
            in_group = waiting = 0
    if waiting:
        step()
    if seen == 0:
        raise ValueError("no samples")
    return total / seen
"""
S_GUARD = "    if type(accumulation_steps) is not int or accumulation_steps <= 0:\n"
S_DIVIDE = (
    "        for parameter in model.parameters():\n"
    "            if parameter.requires_grad:\n"
    "                parameter.grad /= in_group\n"
)
S_FLUSH = "    if waiting:\n        step()\n"
S_FULL = "        if waiting == accumulation_steps:\n"
S_EMPTY = "        if n == 0:\n            continue\n"
S_LOSS = '        loss = F.cross_entropy(model(x), y, reduction="sum")\n'
S_BACKWARD = "        loss.backward()\n"
S_RESET = "            in_group = waiting = 0\n"

# As tutorials have it: a mean loss over k, a step every k batches, the rest at the end.
SHIFTED = """
from torch.nn.functional import cross_entropy


def train_epoch_accumulated(model, batches, optimizer, accumulation_steps, device="cpu"):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError(accumulation_steps)
    model.train()
    optimizer.zero_grad()
    total = count = in_group = i = 0

    def step():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad /= in_group
        optimizer.step()
        optimizer.zero_grad()

    for x, y in batches:
        if not len(y):
            continue
        loss = cross_entropy(model(x.to(device)), y.to(device), reduction="sum")
        loss.backward()
        total, count, in_group = total + loss.item(), count + len(y), in_group + len(y)
        if i % accumulation_steps == 0:
            step()
            in_group = 0
        i += 1
    if count == 0:
        raise ValueError("no samples")
    if in_group:
        step()
    return total / count
"""

TUTORIAL = """
import torch
from torch import nn


def train_epoch_accumulated(model, batches, optimizer, accumulation_steps, device="cpu"):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError(accumulation_steps)
    criterion = nn.CrossEntropyLoss()
    model.train()
    optimizer.zero_grad()
    running, n, i = 0.0, 0, 0
    for features, targets in batches:
        if targets.shape[0] == 0:
            continue
        features, targets = features.to(device), targets.to(device)
        loss = criterion(model(features), targets)
        (loss / accumulation_steps).backward()
        running += loss.item() * targets.shape[0]
        n += targets.shape[0]
        i += 1
        if i % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
    if i % accumulation_steps:
        optimizer.step()
        optimizer.zero_grad()
    if n == 0:
        raise ValueError("no samples")
    return running / n
"""
T_BACKWARD = "        (loss / accumulation_steps).backward()\n"
T_FULL = "        if i % accumulation_steps == 0:\n"
T_STEP = "            optimizer.step()\n            optimizer.zero_grad()\n"
T_FLUSH = (
    "    if i % accumulation_steps:\n"
    "        optimizer.step()\n"
    "        optimizer.zero_grad()\n"
)


def _stream(*edits: tuple[str, str]) -> str:
    return apply(edits, STREAM, "STREAM")


def _tutorial(*edits: tuple[str, str]) -> str:
    return apply(edits, TUTORIAL, "TUTORIAL")


MEAN_OF_MEANS: Edits = (
    (LOSS, MEAN_LOSS),
    (BACKWARD, "            (loss / len(group)).backward()\n"),
    (ADD, MEAN_ADD),
)

MISTAKES = (
    Mistake(
        id="no-division",
        says="You add up the gradients of the batches' mean losses and divide by "
        "nothing: the update grows with the group. Look at what backward is called on.",
        edits=(
            (LOSS, MEAN_LOSS),
            (BACKWARD, "            loss.backward()\n"),
            (ADD, MEAN_ADD),
        ),
        caught_by={"a_step_follows_its_groups_mean"},
        source="fastai/fastai#3023",
        forms=(
            _tutorial((T_BACKWARD, "        loss.backward()\n")),
            # a sum over samples, and nothing divides it
            ((BACKWARD, "            loss.backward()\n"),),
            _stream((S_DIVIDE, "")),
        ),
    ),
    Mistake(
        id="divides-twice",
        says="You divide twice, by the group's samples or batches each time: the update "
        "is too small. Look at what is a mean already.",
        edits=(
            (BACKWARD, "            (loss / group_samples / len(group)).backward()\n"),
        ),
        caught_by={"a_step_follows_its_groups_mean"},
        source="huggingface/transformers#35207",
        forms=(
            _tutorial(
                (T_BACKWARD, "        (loss / accumulation_steps**2).backward()\n")
            ),
            (
                (LOSS, MEAN_LOSS),
                (ADD, MEAN_ADD),
            ),
        ),
    ),
    Mistake(
        id="sum-divided-by-batches",
        says="You add up losses over samples and divide by the number of batches. Look "
        "at what the sum counts.",
        edits=((BACKWARD, "            (loss / len(group)).backward()\n"),),
        caught_by={"a_step_follows_its_groups_mean"},
        forms=(
            ((BACKWARD, "            (loss / accumulation_steps).backward()\n"),),
            _stream((S_DIVIDE, S_DIVIDE.replace("in_group", "waiting"))),
        ),
    ),
    Mistake(
        id="equal-weight-micro-batches",
        says="Your gradient is the mean of the batches' means: a sample in a short batch "
        "counts for more than one in a full batch. Look at what each loss is weighed by.",
        edits=MEAN_OF_MEANS,
        caught_by={"every_sample_weighs_the_same", "two_groups_match_numpy"},
        source="huggingface/transformers#34191",
        forms=(
            _stream(
                (S_DIVIDE, S_DIVIDE.replace("in_group", "waiting")),
                (S_LOSS, "        loss = F.cross_entropy(model(x), y)\n"),
                ("total += loss.item()", "total += loss.item() * n"),
            ),
            # the leftover is rescaled, the weights are still equal
            _tutorial(
                (
                    T_FLUSH,
                    "    left = i % accumulation_steps\n"
                    "    if left:\n"
                    "        for p in model.parameters():\n"
                    "            if p.grad is not None:\n"
                    "                p.grad.mul_(accumulation_steps / left)\n"
                    "        optimizer.step()\n"
                    "        optimizer.zero_grad()\n",
                )
            ),
        ),
    ),
    Mistake(
        id="last-group-divided-by-full-count",
        says="You divide by accumulation_steps although the last group has fewer "
        "batches: its update is too small. Look at what is divided at the end.",
        edits=(
            (
                BACKWARD,
                "            share = loss / group_samples * len(group)\n"
                "            (share / accumulation_steps).backward()\n",
            ),
        ),
        caught_by={"a_smaller_last_group_is_normalised"},
        source="huggingface/transformers#38837",
    ),
    Mistake(
        id="nominal-group-size",
        says="You divide by accumulation_steps times one batch's size: batches differ, "
        "and the last group is short. Look at how many samples the group really has.",
        edits=(
            (START, START + "    batch_size = 0\n"),
            (CLEAR, CLEAR + "        batch_size = batch_size or len(group[0][1])\n"),
            (BACKWARD, "            (loss / (batch_size * len(group))).backward()\n"),
        ),
        caught_by={"every_sample_weighs_the_same"},
        forms=(
            _stream(
                (
                    S_DIVIDE,
                    S_DIVIDE.replace("in_group", "(n * waiting)"),
                )
            ),
            (
                (
                    BACKWARD,
                    "            largest = max(len(t) for _, t in group)\n"
                    "            (loss / (largest * len(group))).backward()\n",
                ),
            ),
            (
                (
                    BACKWARD,
                    "            full = len(group[0][1]) * accumulation_steps\n"
                    "            (loss / full).backward()\n",
                ),
            ),
            # the first batch's size of the epoch, and of all groups
            (
                (START, START + "    batch_size = 0\n"),
                (
                    CLEAR,
                    CLEAR + "        batch_size = batch_size or len(group[0][1])\n",
                ),
                (
                    BACKWARD,
                    "            full = batch_size * accumulation_steps\n"
                    "            (loss / full).backward()\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="counts-the-first-group-only",
        says="You count the first full group's samples and divide every full group by "
        "them: batches differ in size. Look at how often you count.",
        edits=(
            (START, START + "    full_samples = 0\n"),
            (
                CLEAR,
                CLEAR + "        divisor = group_samples\n"
                "        if len(group) == accumulation_steps:\n"
                "            divisor = full_samples = full_samples or group_samples\n",
            ),
            (BACKWARD, BACKWARD.replace("group_samples", "divisor")),
        ),
        caught_by={"a_group_equals_its_batches_joined"},
    ),
    Mistake(
        id="divisor-not-reset",
        says="Your divisor goes on counting from one group to the next: later updates "
        "get smaller and smaller. Look at what starts anew after a step.",
        edits=(
            (START, START + "    group_samples = 0\n"),
            (SIZE, SIZE.replace("group_samples =", "group_samples +=")),
            (COUNT, "        num_samples = group_samples\n"),
        ),
        caught_by={"no_gradient_leaks_between_groups"},
        forms=(
            _stream((S_RESET, "            waiting = 0\n")),
            _stream((S_DIVIDE, S_DIVIDE.replace("in_group", "seen"))),
        ),
    ),
    Mistake(
        id="divides-by-the-last-batch",
        says="You divide the group's sum by the samples of its last batch alone. Look at "
        "where the divisor comes from.",
        edits=(
            (SIZE, "        group_samples = len(group[-1][1])\n"),
            (COUNT, "        num_samples += sum(len(t) for _, t in group)\n"),
        ),
        caught_by={"a_step_follows_its_groups_mean"},
        forms=(_stream((S_DIVIDE, S_DIVIDE.replace("in_group", "n"))),),
    ),
    Mistake(
        id="divides-gradients-at-every-batch",
        says="You divide what .grad holds after every batch: the first batches of a "
        "group are divided again and again. Look at how often a gradient is divided.",
        edits=(
            (
                BACKWARD,
                "            loss.backward()\n"
                "            for p in model.parameters():\n"
                "                if p.grad is not None:\n"
                "                    p.grad /= group_samples\n",
            ),
        ),
        caught_by={"a_step_follows_its_groups_mean"},
        forms=(
            _tutorial(
                (
                    T_BACKWARD,
                    "        loss.backward()\n"
                    "        for p in model.parameters():\n"
                    "            if p.grad is not None:\n"
                    "                p.grad /= accumulation_steps\n",
                )
            ),
        ),
    ),
    Mistake(
        id="counts-earlier-batches-again",
        says="You add .grad to sums of your own and leave it in place: the first batches "
        "of a group count again with each later one. Look at what .grad holds by then.",
        edits=(
            (
                CLEAR,
                CLEAR
                + "        held = [p for p in model.parameters() if p.requires_grad]\n"
                "        sums = [torch.zeros_like(p) for p in held]\n",
            ),
            (
                ADD,
                ADD + "            for own, p in zip(sums, held):\n"
                "                own += p.grad\n",
            ),
            (
                STEP,
                "        for own, p in zip(sums, held):\n"
                "            p.grad = own\n" + STEP,
            ),
        ),
        caught_by={"a_step_follows_its_groups_mean"},
    ),
    Mistake(
        id="leftovers-not-divided",
        says="You divide the full groups' gradients and forget those that are left at the "
        "end. Look at the step after the loop.",
        rewrite=_stream(
            (
                S_FLUSH,
                "    if waiting:\n        optimizer.step()\n        optimizer.zero_grad()\n",
            ),
        ),
        caught_by={"a_smaller_last_group_is_normalised"},
    ),
    Mistake(
        id="clips-unasked",
        says="You clip the gradient, which nobody asked for: large updates come out too "
        "small. Look at what happens between backward and step.",
        edits=(
            (
                STEP,
                "        nn.utils.clip_grad_norm_(model.parameters(), 0.1)\n" + STEP,
            ),
        ),
        caught_by={"a_step_follows_its_groups_mean"},
    ),
    Mistake(
        id="float32-buffers",
        says="You add up gradients in float32: a float64 model loses digits. Look at the "
        "dtype of your buffers.",
        edits=(
            (
                STEP,
                "        for p in model.parameters():\n"
                "            if p.grad is not None:\n"
                "                p.grad = p.grad.float().to(p.dtype)\n" + STEP,
            ),
        ),
        caught_by={"a_step_follows_its_groups_mean"},
    ),
    Mistake(
        id="divides-the-learning-rate",
        says="You divide the learning rate in place of the gradient: right for plain SGD "
        "alone; decay and Adam's moments see another gradient. Look at what is divided.",
        edits=(
            (BACKWARD, "            loss.backward()\n"),
            (
                STEP,
                "        rates = [g['lr'] for g in optimizer.param_groups]\n"
                "        for param_group in optimizer.param_groups:\n"
                "            param_group['lr'] /= group_samples\n"
                "        optimizer.step()\n"
                "        for param_group, rate in zip(optimizer.param_groups, rates):\n"
                "            param_group['lr'] = rate\n",
            ),
        ),
        caught_by={"trains_every_network_with_every_optimizer"},
    ),
    Mistake(
        id="zero-grad-every-batch",
        says="You clear the gradients at every batch: the step follows the last batch of "
        "the group alone. Look at the place of zero_grad.",
        edits=((CLEAR, ""), (LOSS, "            optimizer.zero_grad()\n" + LOSS)),
        caught_by={"a_step_follows_its_groups_mean"},
        source="facebookresearch/mmf#747",
        forms=(
            _stream((S_BACKWARD, "        optimizer.zero_grad()\n" + S_BACKWARD)),
            _tutorial((T_BACKWARD, "        model.zero_grad()\n" + T_BACKWARD)),
            # assigned, not added up
            (
                (
                    BACKWARD,
                    "            held = [p for p in model.parameters() if p.requires_grad]\n"
                    "            grads = torch.autograd.grad(loss / group_samples, held)\n"
                    "            for p, g in zip(held, grads):\n"
                    "                p.grad = g\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="no-backward",
        says="You never go backward: the optimizer steps without a gradient, and the "
        "model stays as it was. Look at what comes before the step.",
        edits=((BACKWARD, ""),),
        caught_by={"a_step_follows_its_groups_mean"},
    ),
    Mistake(
        id="zero-grad-after-backward",
        says="You clear the gradients between backward and step: the step finds nothing. "
        "Look at the order at the group's end.",
        edits=((CLEAR, ""), (STEP, CLEAR + STEP)),
        caught_by={"a_step_follows_its_groups_mean"},
        forms=(
            _tutorial(
                (
                    T_FULL + "            optimizer.step()\n"
                    "            optimizer.zero_grad()\n",
                    T_FULL + "            optimizer.zero_grad()\n"
                    "            optimizer.step()\n",
                )
            ),
        ),
    ),
    Mistake(
        id="no-zero-after-step",
        says="You do not clear after a step: every group's update holds those before it. "
        "Look at what .grad holds when a group begins.",
        edits=((CLEAR, ""), (GROUPS, "    optimizer.zero_grad()\n" + GROUPS)),
        caught_by={"no_gradient_leaks_between_groups"},
        source="pytorch/pytorch#47175",
        forms=(
            _stream(
                (
                    "        optimizer.step()\n        optimizer.zero_grad()\n",
                    "        optimizer.step()\n",
                )
            ),
            # cleared nowhere: not even what was there on entry
            ((CLEAR, ""),),
        ),
    ),
    Mistake(
        id="entry-grad-leaks",
        says="You clear only after a step: what .grad held when you were called goes "
        "into the first update. Look at the first group.",
        edits=((CLEAR, ""), (STEP, STEP + CLEAR)),
        caught_by={"no_gradient_leaks_from_before_the_call"},
        source="karpathy/llm.c#548",
        forms=(
            _stream(
                (
                    "    model.train()\n    optimizer.zero_grad()\n",
                    "    model.train()\n",
                )
            ),
        ),
    ),
    Mistake(
        id="leftovers-leak-into-next-epoch",
        says="You do not clear after the step for the leftovers, nor on entry: they go "
        "into the next epoch's first update. Look at what a call leaves in .grad.",
        rewrite=_tutorial(
            ("    model.train()\n    optimizer.zero_grad()\n", "    model.train()\n"),
            (
                T_FLUSH,
                "    if i % accumulation_steps:\n        optimizer.step()\n",
            ),
        ),
        caught_by={"no_gradient_leaks_from_before_the_call"},
    ),
    Mistake(
        id="drops-last-group",
        says="You step for full groups alone: the batches that are left at the end train "
        "nothing. Look at what happens after the last full group.",
        edits=((GIVE, "        if len(group) == size:\n            yield group\n"),),
        caught_by={"a_smaller_last_group_is_stepped"},
        source="NVIDIA-NeMo/Automodel#2257",
        forms=(
            _stream((S_FLUSH, "")),
            _tutorial((T_FLUSH, "")),
            # its losses are reported all the same
            (
                (
                    STEP,
                    "        if len(group) == accumulation_steps:\n"
                    "            optimizer.step()\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="steps-every-batch",
        says="You step after every batch: the gradients add up, and so do the steps. "
        "Look at the indentation of the step.",
        edits=((STEP, ""), (ADD, ADD + "            optimizer.step()\n")),
        caught_by={"steps_once_for_each_group"},
        forms=(
            _stream((S_FULL, "        if waiting:\n")),
            _tutorial((T_FULL, "        if i % 1 == 0:\n"), (T_FLUSH, "")),
        ),
    ),
    Mistake(
        id="steps-once-per-epoch",
        says="You step once, after the loop. Look at where a group ends.",
        rewrite=_stream((S_FULL, "        if False:\n")),
        caught_by={"steps_once_for_each_group"},
    ),
    Mistake(
        id="steps-on-empty-group",
        says="You step after the loop whether a group is open or not: with momentum or "
        "decay a step without gradients moves the model. Look at what guards the flush.",
        rewrite=_stream(
            (
                S_FLUSH,
                "    in_group = max(in_group, 1)\n"
                "    for parameter in model.parameters():\n"
                "        if parameter.requires_grad and parameter.grad is None:\n"
                "            parameter.grad = torch.zeros_like(parameter)\n"
                "    step()\n",
            )
        ),
        caught_by={"steps_once_for_each_group", "empty_data_is_refused"},
    ),
    Mistake(
        id="off-by-one-boundary",
        says="You step when i % accumulation_steps is 0, counting from 0: the first "
        "batch is a group of its own. Look at which batches a step comes after.",
        # without a flush there are as many steps as groups, at the wrong places
        rewrite=_tutorial(
            (
                "        i += 1\n" + T_FULL + T_STEP + T_FLUSH,
                T_FULL + T_STEP + "        i += 1\n",
            )
        ),
        caught_by={"each_step_closes_its_group"},
        source="modelscope/FunASR#3472",
        forms=(
            (
                (
                    TAKE,
                    "    if first := list(islice(filled, 1)):\n"
                    "        yield first\n" + TAKE,
                ),
                (
                    GIVE,
                    "        if len(group) < size and size > 1:\n"
                    "            return\n" + GIVE,
                ),
            ),
        ),
    ),
    Mistake(
        id="off-by-one-boundary-with-flush",
        says="You step when i % accumulation_steps is 0, counting from 0, and once more "
        "for what is left. Look at which batches a step comes after.",
        rewrite=_tutorial(
            (
                "        i += 1\n" + T_FULL + T_STEP + T_FLUSH,
                T_FULL
                + T_STEP
                + "        i += 1\n    if i and (i - 1) % accumulation_steps:\n"
                + "        optimizer.step()\n",
            )
        ),
        caught_by={"steps_once_for_each_group"},
        # normalised by the samples that are in it
        forms=(SHIFTED,),
    ),
    Mistake(
        id="group-one-too-long",
        says="You step when more than accumulation_steps batches are in: groups are one "
        "too long. Look at the comparison.",
        rewrite=_stream((S_FULL, "        if waiting > accumulation_steps:\n")),
        caught_by={"steps_once_for_each_group"},
        forms=(((TAKE, TAKE.replace("size", "size + 1")),),),
    ),
    Mistake(
        id="extra-step-at-end",
        says="You step after the loop also when the epoch divides evenly: that is one "
        "step too many, on a gradient that was used. Look at what guards it.",
        edits=((END, "    optimizer.step()\n" + END),),
        caught_by={"steps_once_for_each_group"},
        source="ultralytics/ultralytics#11217",
        forms=(
            _tutorial((T_FLUSH, "    optimizer.step()\n")),
            _tutorial((T_FLUSH, T_FLUSH.replace("i % accumulation_steps", "i"))),
        ),
    ),
    Mistake(
        id="counts-empty-batches",
        says="You let empty batches take a place in a group. Look at what is counted "
        "before the guard.",
        edits=(
            (FILLED, ""),
            (
                TAKE + GIVE,
                "    stream = iter(batches)\n"
                "    while group := list(islice(stream, size)):\n"
                "        group = [batch for batch in group if len(batch[1])]\n"
                "        if group:\n"
                "            yield group\n",
            ),
        ),
        caught_by={"an_empty_batch_does_not_count"},
        forms=(
            _stream(
                (S_EMPTY, "        waiting += 1\n" + S_EMPTY),
                (
                    "        in_group += n\n        waiting += 1\n",
                    "        in_group += n\n",
                ),
                (S_FULL, "        if waiting >= accumulation_steps:\n"),
                (S_FLUSH, "    if in_group:\n        step()\n"),
            ),
            # the index of enumerate
            _stream(
                (
                    "    for x, y in batches:\n",
                    "    for i, (x, y) in enumerate(batches, start=1):\n",
                ),
                (S_FULL, "        if i % accumulation_steps == 0:\n"),
            ),
        ),
    ),
    Mistake(
        id="forward-on-empty",
        says="You forward empty batches: their mean loss is NaN, and BatchNorm and "
        "dropout take note. Look at len(targets).",
        edits=(
            (FILLED, ""),
            (
                TAKE,
                "    filled = iter(batches)\n" + TAKE,
            ),
        ),
        caught_by={"an_empty_batch_does_not_count"},
        forms=(
            _stream(
                (S_EMPTY, ""),
                ("        waiting += 1\n", "        waiting += n > 0\n"),
                (S_FULL, "        if waiting == accumulation_steps and n:\n"),
            ),
        ),
    ),
    Mistake(
        id="stops-at-empty-batch",
        says="You stop at the first empty batch: what comes after it is never trained "
        "on. Look at how the loop leaves it.",
        edits=(
            (
                "from itertools import islice\n",
                "from itertools import islice, takewhile\n",
            ),
            (FILLED, "    filled = takewhile(lambda batch: len(batch[1]), batches)\n"),
        ),
        caught_by={"an_empty_batch_does_not_count"},
        forms=(_stream((S_EMPTY, S_EMPTY.replace("continue", "break"))),),
    ),
    Mistake(
        id="empty-batch-closes-the-group",
        says="You step when an empty batch comes: it only is to be passed over. Look at "
        "what the guard does.",
        rewrite=_stream(
            (
                S_EMPTY,
                "        if n == 0:\n"
                "            if waiting:\n"
                "                step()\n"
                "                in_group = waiting = 0\n"
                "            continue\n",
            )
        ),
        caught_by={"an_empty_batch_does_not_count"},
    ),
    Mistake(
        id="empty-batch-is-an-error",
        says="You refuse an empty batch: only an epoch without any sample is an error. "
        "Look at where you raise.",
        rewrite=_stream(
            (S_EMPTY, "        if n == 0:\n            raise ValueError('empty')\n")
        ),
        caught_by={"an_empty_batch_does_not_count"},
    ),
    Mistake(
        id="holds-every-graph",
        says="You add up the group's losses and go backward once: all its graphs are in "
        "memory together, as with the big batch. Look at when backward is called.",
        edits=(
            (EACH, "        group_loss = 0.0\n" + EACH),
            (BACKWARD, "            group_loss = group_loss + loss\n"),
            (STEP, "        (group_loss / group_samples).backward()\n" + STEP),
        ),
        caught_by={"frees_each_graph_before_the_next_forward"},
        source="huggingface/transformers#2533",
        forms=(
            (
                (EACH, "        losses = []\n" + EACH),
                (BACKWARD, "            losses.append(loss)\n"),
                (
                    STEP,
                    "        for loss in losses:\n"
                    "            (loss / group_samples).backward()\n" + STEP,
                ),
            ),
            _stream(
                (
                    "    in_group = waiting = 0\n\n",
                    "    in_group = waiting = 0\n    pending = []\n\n",
                ),
                (S_BACKWARD, "        pending.append(loss)\n"),
                (
                    S_DIVIDE,
                    "        (torch.stack(pending).sum() / in_group).backward()\n        pending.clear()\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="retain-graph",
        says="You keep the graph after backward: what it saved is still in memory when "
        "the next batch is forwarded. Look at the arguments of backward.",
        edits=((BACKWARD, BACKWARD.replace("()", "(retain_graph=True)")),),
        caught_by={"frees_each_graph_before_the_next_forward"},
        forms=(
            _tutorial((T_BACKWARD, T_BACKWARD.replace("()", "(retain_graph=True)"))),
            ((BACKWARD, BACKWARD.replace("()", "(create_graph=True)")),),
        ),
    ),
    Mistake(
        id="joins-the-group",
        says="You join the group's batches and forward them as one: that is the batch "
        "that does not fit. Look at what the model is called on.",
        edits=(
            (
                EACH,
                "        joined = [tuple(torch.cat(part) for part in zip(*group))]\n"
                "        for features, targets in joined:\n",
            ),
        ),
        caught_by={"forwards_each_batch_once_alone"},
    ),
    Mistake(
        id="backward-late",
        says="You go backward one batch late: the forward of the next batch finds the "
        "graph of the one before. Look at the order in the loop.",
        edits=(
            (EACH, "        pending = None\n" + EACH),
            (
                BACKWARD,
                "            if pending is not None:\n"
                "                pending.backward()\n"
                "            pending = loss / group_samples\n",
            ),
            (STEP, "        pending.backward()\n" + STEP),
        ),
        caught_by={"frees_each_graph_before_the_next_forward"},
    ),
    Mistake(
        id="keeps-graph",
        says="You add up loss tensors with their history: every batch's graph stays "
        "until the epoch ends. Look at what is added to the running total.",
        edits=(
            (ADD, "            total_loss += loss\n"),
            (MEAN, "    return (total_loss / num_samples).item()\n"),
        ),
        caught_by={"keeps_no_graph"},
        source="BatsResearch/labelmodels#4",
        forms=(
            (
                (START, START + "    losses = []\n"),
                (ADD, "            losses.append(loss)\n"),
                (MEAN, "    return sum(losses).item() / num_samples\n"),
            ),
            # a group at a time is one group too many
            (
                (EACH, "        group_loss = 0.0\n" + EACH),
                (ADD, "            group_loss = group_loss + loss\n"),
                (STEP, STEP + "        total_loss += group_loss.item()\n"),
            ),
        ),
    ),
    Mistake(
        id="reports-scaled-loss",
        says="You report the loss as it was divided for the gradient. Look at which of "
        "the two numbers is added up.",
        edits=(
            (LOSS, LOSS.replace("\n", " / len(group)\n")),
            (BACKWARD, "            (loss / group_samples * len(group)).backward()\n"),
        ),
        caught_by={"batches_of_4_and_1_and_2_weigh"},
        source="karpathy/nanoGPT#207",
        forms=(
            (
                (LOSS, LOSS + "            loss = loss / group_samples\n"),
                (BACKWARD, "            loss.backward()\n"),
            ),
            (
                (LOSS, LOSS + "            loss = loss / group_samples\n"),
                (BACKWARD, "            loss.backward()\n"),
                (ADD, MEAN_ADD),
            ),
            ((MEAN, "    return total_loss / num_samples / accumulation_steps\n"),),
        ),
    ),
    Mistake(
        id="mean-of-batch-means",
        says="Your loss is the mean of the batches' means: a short batch counts as much "
        "as a full one. Look at what each loss is multiplied by, and at the divisor.",
        edits=(
            (START, START + "    num_batches = 0\n"),
            (
                ADD,
                "            total_loss += loss.item() / len(targets)\n"
                "            num_batches += 1\n",
            ),
            (MEAN, "    return total_loss / num_batches\n"),
        ),
        caught_by={"batches_of_4_and_1_and_2_weigh"},
        source="Lightning-AI/pytorch-lightning#2924",
        forms=(
            _tutorial(
                (
                    "        running += loss.item() * targets.shape[0]\n",
                    "        running += loss.item()\n",
                ),
                ("    return running / n\n", "    return running / i\n"),
            ),
        ),
    ),
    Mistake(
        id="mean-of-group-means",
        says="Your loss is the mean of the groups' means: the smaller last group counts "
        "for too much. Look at what a group's loss is weighed by.",
        edits=(
            (START, START + "    num_groups = 0\n"),
            (ADD, "            total_loss += loss.item() / group_samples\n"),
            (COUNT, COUNT + "        num_groups += 1\n"),
            (MEAN, "    return total_loss / num_groups\n"),
        ),
        caught_by={"batches_of_4_and_1_and_2_weigh"},
    ),
    Mistake(
        id="divides-by-steps",
        says="You divide the summed loss by the number of steps or batches. Look at the "
        "divisor: it must count samples.",
        edits=((COUNT, "        num_samples += 1\n"),),
        caught_by={"batches_of_4_and_1_and_2_weigh"},
        forms=(((COUNT, "        num_samples += len(group)\n"),),),
    ),
    Mistake(
        id="last-group-loss",
        says="You return the loss of the last batch, or of the last group. Look at what "
        "is kept from one group to the next.",
        edits=((MEAN, "    return loss.item() / len(targets)\n"),),
        caught_by={"batches_of_4_and_1_and_2_weigh"},
        source="NVIDIA/DeepLearningExamples#299",
        forms=(
            (
                (CLEAR, CLEAR + "        total_loss = 0.0\n"),
                (MEAN, "    return total_loss / group_samples\n"),
            ),
        ),
    ),
    Mistake(
        id="reports-at-steps-only",
        says="You add up the loss only when you step: the other batches of a group are "
        "not in the mean. Look at the indentation.",
        rewrite=_tutorial(
            (
                "        running += loss.item() * targets.shape[0]\n"
                "        n += targets.shape[0]\n",
                "        n += targets.shape[0]\n",
            ),
            (
                T_FULL,
                T_FULL + "            running += loss.item() * targets.shape[0]\n",
            ),
        ),
        caught_by={"batches_of_4_and_1_and_2_weigh"},
    ),
    Mistake(
        id="leaves-last-group-out-of-the-mean",
        says="You count a group's loss only when the group is full: what is left at the "
        "end is not in the mean. Look at what happens after the loop.",
        edits=(
            (EACH, "        group_loss = 0.0\n" + EACH),
            (ADD, "            group_loss += loss.item()\n"),
            (
                COUNT,
                "        if len(group) == accumulation_steps or not num_samples:\n"
                "            total_loss += group_loss\n"
                "            num_samples += group_samples\n",
            ),
        ),
        caught_by={"batches_of_4_and_1_and_2_weigh"},
    ),
    Mistake(
        id="softmax-before-ce",
        says="You apply softmax before cross entropy, which takes raw logits. Look at "
        "what goes into the loss.",
        edits=(("model(features), targets", "model(features).softmax(1), targets"),),
        caught_by={"a_step_follows_its_groups_mean"},
        source="Lightning-Universe/lightning-bolts#654",
    ),
    Mistake(
        id="loss-after-update",
        says="You measure the losses after the step, by further forwards. Look at which "
        "forward the reported loss comes from.",
        edits=(
            (ADD, ""),
            (
                COUNT,
                COUNT + "        with torch.no_grad():\n"
                "            for features, targets in group:\n"
                "                features, targets = features.to(device), targets.to(device)\n"
                "                total_loss += F.cross_entropy(\n"
                "                    model(features), targets, reduction='sum'\n"
                "                ).item()\n",
            ),
        ),
        caught_by={
            "forwards_each_batch_once_alone",
            "loss_is_measured_before_each_update",
        },
    ),
    Mistake(
        id="extra-forward",
        says="You call the model twice a batch: BatchNorm's statistics move twice and "
        "dropout draws another mask. Look at what the first forward gave.",
        edits=((LOSS, "            model(features)\n" + LOSS),),
        caught_by={"forwards_each_batch_once_alone"},
    ),
    Mistake(
        id="forwards-before-steps",
        says="You keep the gradients and take all steps at the end: later groups are "
        "forwarded on parameters that are gone. Look at when the step is due.",
        edits=(
            (GROUPS, "    kept = []\n" + GROUPS),
            (STEP, "        kept.append([p.grad for p in model.parameters()])\n"),
            (
                END,
                "    for grads in kept:\n"
                "        for parameter, grad in zip(model.parameters(), grads):\n"
                "            parameter.grad = grad\n"
                "        optimizer.step()\n" + END,
            ),
        ),
        caught_by={"each_step_closes_its_group"},
    ),
    Mistake(
        id="trains-on-a-copy",
        says="You compute the gradients on a copy of the model that the steps never "
        "reach: later groups see old parameters. Look at which model is forwarded.",
        edits=(
            (
                START,
                START + "    import copy\n\n    replica = copy.deepcopy(model)\n",
            ),
            (LOSS, LOSS.replace("model(", "replica(")),
            (
                STEP,
                "        for p, q in zip(model.parameters(), replica.parameters()):\n"
                "            p.grad, q.grad = q.grad, None\n" + STEP,
            ),
        ),
        caught_by={"each_step_closes_its_group"},
    ),
    Mistake(
        id="no-train-mode",
        says="You never put the model in train mode: coming from an evaluation, dropout "
        "is off and BatchNorm stands still. Look at what the loop relies on.",
        edits=((TRAIN, ""),),
        caught_by={"trains_in_train_mode"},
        source="joeynmt/joeynmt#184",
        forms=(((TRAIN, "    model.training = True\n"),),),
    ),
    Mistake(
        id="leaves-eval-mode",
        says="You leave the model in eval mode. Look at the last mode set.",
        edits=((MEAN, "    model.eval()\n" + MEAN),),
        caught_by={"trains_in_train_mode"},
    ),
    Mistake(
        id="batchnorm-moves-once-a-group",
        says="You put BatchNorm in eval mode for all but a group's first batch: train "
        "mode is for every forward. Look at what you set on single modules.",
        edits=(
            (
                MOVE,
                MOVE + "            for module in model.modules():\n"
                "                if isinstance(module, nn.BatchNorm1d):\n"
                "                    module.train(targets is group[0][1])\n",
            ),
            (MEAN, "    model.train()\n" + MEAN),
        ),
        caught_by={"trains_in_train_mode"},
    ),
    Mistake(
        id="batchnorm-statistics-held",
        says="You keep BatchNorm from tracking its statistics for all but a group's "
        "first batch: each forward in train mode moves them. Look at what you set on "
        "single modules.",
        edits=(
            (
                MOVE,
                MOVE + "            for module in model.modules():\n"
                "                if isinstance(module, nn.BatchNorm1d):\n"
                "                    module.track_running_stats = targets is group[0][1]\n",
            ),
        ),
        caught_by={"trains_every_network_with_every_optimizer"},
    ),
    Mistake(
        id="train-mode-too-late",
        says="You set train mode after the first forward. Look at what comes before the "
        "loop.",
        edits=((TRAIN, ""), (STEP, STEP + "        model.train()\n")),
        caught_by={"trains_in_train_mode"},
    ),
    Mistake(
        id="no-argument-check",
        says="You take any accumulation_steps: 0 or 2.0 fails later, or trains something "
        "else. Look at the first line.",
        edits=((GUARD, ""),),
        caught_by={"accumulation_steps_is_a_positive_int"},
        forms=(
            # only the type
            _stream((S_GUARD, "    if type(accumulation_steps) is not int:\n")),
            # made to fit
            ((GUARD, "    accumulation_steps = max(1, int(accumulation_steps))\n"),),
            _stream((S_GUARD, "    if not accumulation_steps:\n")),
        ),
    ),
    Mistake(
        id="wrong-error-for-the-argument",
        says="You raise another error than ValueError for a wrong accumulation_steps. "
        "Look at what the statement asks.",
        edits=(
            (
                GUARD,
                "    if not isinstance(accumulation_steps, int):\n"
                "        raise TypeError(accumulation_steps)\n"
                "    if accumulation_steps < 1:\n"
                "        raise ValueError(accumulation_steps)\n",
            ),
        ),
        caught_by={"accumulation_steps_is_a_positive_int"},
        forms=(
            ((GUARD, "    assert accumulation_steps >= 1\n"),),
            # only the value, and whatever the rest runs into
            ((GUARD, "    if accumulation_steps < 1:\n        raise ValueError\n"),),
        ),
    ),
    Mistake(
        id="argument-check-too-late",
        says="You look at accumulation_steps when batches have been read. Look at what "
        "comes first.",
        edits=(
            (GUARD, ""),
            (
                GROUPS,
                "    batches = iter(batches)\n"
                "    first = next(batches, None)\n"
                + GUARD
                + "    if first is not None:\n"
                "        rest, batches = batches, None\n"
                "        batches = (b for part in ([first], rest) for b in part)\n"
                + GROUPS,
            ),
        ),
        caught_by={"accumulation_steps_is_a_positive_int"},
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
            # steps before it raises
            _stream(
                (S_FLUSH, "    in_group = max(in_group, 1)\n    optimizer.step()\n")
            ),
        ),
    ),
    Mistake(
        id="no-samples-divides-by-zero",
        says="You divide by zero when there was no sample: ZeroDivisionError is not the "
        "ValueError that says what is wrong. Look at the last line.",
        edits=((END + RAISE, ""),),
        caught_by={"empty_data_is_refused"},
        forms=(((END + RAISE, '    assert num_samples, "no samples"\n'),),),
    ),
    Mistake(
        id="len-of-batches",
        says="You ask the batches for their length, to know the last: a generator has "
        "none. Look at what is left when the loop ends.",
        rewrite=_tutorial(
            ("        i += 1\n", "        i += 1\n        last = i == len(batches)\n"),
            (T_FULL, "        if i % accumulation_steps == 0 or last:\n"),
            (T_FLUSH, ""),
        ),
        caught_by={"reads_at_most_a_group_ahead", "batches_are_gone_through_once"},
        forms=(
            (
                (
                    GROUPS,
                    "    filled = [batch for batch in batches[:] if len(batch[1])]\n"
                    "    for start in range(0, len(filled), accumulation_steps):\n"
                    "        group = filled[start : start + accumulation_steps]\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="materialises-batches",
        says="You collect all batches before the first forward: a large or endless "
        "stream fills the memory. Look at how much is read before the first step.",
        edits=((FILLED, "    filled = iter([b for b in batches if len(b[1])])\n"),),
        caught_by={"reads_at_most_a_group_ahead"},
        forms=(
            (
                (
                    GROUPS,
                    "    filled = [batch for batch in list(batches) if len(batch[1])]\n"
                    "    for start in range(0, len(filled), accumulation_steps):\n"
                    "        group = filled[start : start + accumulation_steps]\n",
                ),
            ),
            _stream(
                ("    for x, y in batches:\n", "    for x, y in tuple(batches):\n"),
            ),
        ),
    ),
    Mistake(
        id="reads-two-groups",
        says="You read a second group before the first is trained on. Look at when the "
        "stream is asked.",
        edits=(
            (
                GROUPS,
                "    ahead = _groups(batches, accumulation_steps)\n"
                "    following = next(ahead, None)\n"
                "    while following:\n"
                "        group, following = following, next(ahead, None)\n",
            ),
        ),
        caught_by={"reads_at_most_a_group_ahead"},
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
        caught_by={"reads_at_most_a_group_ahead", "batches_are_gone_through_once"},
    ),
    Mistake(
        id="targets-not-moved",
        says="You move the features and not the targets: on a GPU the loss fails. Look "
        "at what meets the logits.",
        edits=((MOVE, "            features = features.to(device)\n"),),
        caught_by={"moves_batches_to_the_device"},
    ),
    Mistake(
        id="features-not-moved",
        says="You move the targets and not the features: on a GPU the first layer "
        "fails. Look at what goes into the model.",
        edits=((MOVE, "            targets = targets.to(device)\n"),),
        caught_by={"moves_batches_to_the_device"},
        # moved to where the targets are, which is not here yet
        forms=(
            (
                (
                    MOVE,
                    "            features = features.to(targets.device)\n"
                    "            targets = targets.to(device)\n",
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
        edits=((ADD, "            total_loss += loss.detach()\n"),),
        caught_by={"returns_a_float"},
    ),
    Mistake(
        id="rounds-result",
        says="You round the loss: small improvements vanish. Look at the last line.",
        edits=((MEAN, "    return round(total_loss / num_samples, 3)\n"),),
        caught_by={"batches_of_4_and_1_and_2_weigh"},
    ),
    Mistake(
        id="counts-empty-as-batch",
        says="Your divisor of the loss counts empty batches. Look at where it grows.",
        rewrite=_stream(
            (S_EMPTY, S_EMPTY.replace("continue", "seen += 1\n            continue")),
            ("    if seen == 0:\n", "    if total == 0:\n"),
        ),
        caught_by={"mean_loss_weighs_every_sample_once"},
    ),
    Mistake(
        id="forgets-optimizer-state",
        says="You throw the optimizer's state away at each call: momentum and Adam's "
        "moments start anew each epoch. Look at what you reset before the loop.",
        edits=((START, "    optimizer.state.clear()\n" + START),),
        caught_by={"trains_every_network_with_every_optimizer"},
    ),
    Mistake(
        id="new-optimizer-each-call",
        says="You build an optimizer of your own: its momentum starts anew at each "
        "epoch. Look at which optimizer steps.",
        edits=(
            (
                START,
                "    optimizer = type(optimizer)(\n"
                "        [p for p in model.parameters() if p.requires_grad],\n"
                "        **optimizer.defaults,\n"
                "    )\n" + START,
            ),
        ),
        caught_by={"steps_once_for_each_group"},
        source="euancrabtree/Lipreading-PyTorch#7",
    ),
    Mistake(
        id="changes-inputs",
        says="You change the features in place: they are the caller's. Look at methods "
        "that end in an underscore.",
        edits=((MOVE, MOVE + "            features.sub_(features.mean())\n"),),
        caught_by={"inputs_and_requires_grad_stay"},
        forms=(
            (
                (
                    MOVE,
                    MOVE + "            if features.is_floating_point():\n"
                    "                features.requires_grad_()\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="casts-features",
        says="You cast the features: a float64 or half model then fails or loses digits. "
        "Look at what reaches the model.",
        edits=((MOVE, MOVE + "            features = features.float()\n"),),
        caught_by={"inputs_and_requires_grad_stay"},
        forms=(
            ((MOVE, MOVE + "            features = features.float().double()\n"),),
            ((MOVE, MOVE + "            features = features.double()\n"),),
        ),
    ),
    Mistake(
        id="flattens-features",
        says="You reshape the features: what shape the model takes is its own affair, "
        "an image has more than two dimensions. Look at what reaches the model.",
        edits=((MOVE, MOVE + "            features = features.flatten(1)\n"),),
        caught_by={"inputs_and_requires_grad_stay"},
    ),
    Mistake(
        id="unfreezes-parameters",
        says="You switch requires_grad on for every parameter: what the caller froze "
        "thaws. Look at what you change before the loop.",
        edits=((START, "    model.requires_grad_(True)\n" + START),),
        caught_by={"inputs_and_requires_grad_stay"},
    ),
    Mistake(
        id="empties-the-callers-list",
        says="You take the batches out of the caller's list. Look at pop.",
        edits=(
            (
                GROUPS,
                "    if isinstance(batches, list):\n"
                "        queue, batches = batches, iter(lambda: queue.pop(0) if queue else None, None)\n"
                + GROUPS,
            ),
        ),
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
        id="one-loop-divided-at-the-step",
        says="Sums are added up, the gradients divided at the step, the rest flushed.",
        rewrite=STREAM,
        forms=(
            # a closure over the optimizer's groups, cleared before each group
            _stream(
                (
                    S_DIVIDE,
                    "        for group in optimizer.param_groups:\n"
                    "            for parameter in group['params']:\n"
                    "                parameter.grad.div_(in_group)\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="clears-after-the-step-and-once-before",
        says="Clearing after each step and once before the first is right.",
        edits=(
            (CLEAR, ""),
            (STEP, STEP + CLEAR),
            (GROUPS, "    optimizer.zero_grad()\n" + GROUPS),
        ),
    ),
    Mistake(
        id="mean-times-share",
        says="A mean loss times the batch's share of the group's samples.",
        edits=(
            (LOSS, MEAN_LOSS),
            (
                BACKWARD,
                "            (loss * (len(targets) / group_samples)).backward()\n",
            ),
            (ADD, MEAN_ADD),
        ),
    ),
    Mistake(
        id="backward-with-a-gradient",
        says="The share handed to backward.",
        edits=(
            (LOSS, MEAN_LOSS),
            (
                BACKWARD,
                "            share = torch.full_like(loss, len(targets) / group_samples)\n"
                "            loss.backward(share)\n",
            ),
            (ADD, MEAN_ADD),
        ),
    ),
    Mistake(
        id="clears-to-zero-by-the-model",
        says="Clearing by the model, to zeros.",
        edits=((CLEAR, "        model.zero_grad(set_to_none=False)\n"),),
    ),
    Mistake(
        id="steps-when-the-next-group-begins",
        says="The step is taken when the next batch with samples comes, or at the end.",
        rewrite=_stream(
            (
                S_EMPTY,
                S_EMPTY + S_FULL + "            step()\n" + S_RESET,
            ),
            (
                "        waiting += 1\n" + S_FULL + "            step()\n" + S_RESET,
                "        waiting += 1\n",
            ),
        ),
    ),
    Mistake(
        id="own-gradient-buffers",
        says="torch.autograd.grad, buffers of one's own, assigned before the step.",
        edits=(
            (
                CLEAR,
                "        held = [p for p in model.parameters() if p.requires_grad]\n"
                "        sums = [torch.zeros_like(p) for p in held]\n",
            ),
            (
                BACKWARD,
                "            for s, g in zip(sums, torch.autograd.grad(loss, held)):\n"
                "                s.add_(g)\n",
            ),
            (
                STEP,
                "        for p, s in zip(held, sums):\n"
                "            p.grad = s / group_samples\n" + STEP,
            ),
        ),
    ),
    Mistake(
        id="closure",
        says="optimizer.step(closure) forwards the group inside the step.",
        edits=(
            (
                CLEAR,
                "        def closure():\n"
                "            optimizer.zero_grad()\n"
                "            summed = 0.0\n"
                "            for features, targets in group:\n"
                "                features, targets = features.to(device), targets.to(device)\n"
                "                loss = F.cross_entropy(\n"
                "                    model(features), targets, reduction='sum'\n"
                "                )\n"
                "                (loss / group_samples).backward()\n"
                "                summed += loss.item()\n"
                "            return summed\n\n",
            ),
            (EACH + MOVE + LOSS + NOTE + BACKWARD + ADD, ""),
            (STEP, "        total_loss += optimizer.step(closure)\n"),
        ),
    ),
    Mistake(
        id="running-mean-of-gradients",
        says=".grad holds the mean so far, brought up to date batch by batch.",
        rewrite="""
import torch


class _Group:
    def __init__(self):
        self.samples = 0
        self.batches = 0


def train_epoch_accumulated(model, batches, optimizer, accumulation_steps, device="cpu"):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError(f"bad accumulation_steps {accumulation_steps!r}")
    criterion = torch.nn.CrossEntropyLoss().to(device)
    for module in model.modules():
        module.training = True
    mean, seen, group = 0.0, 0, None
    stream = iter(batches)
    while True:
        try:
            x, y, *_ = next(stream)
        except StopIteration:
            break
        if not y.numel():
            continue
        if group is None:
            group = _Group()
            for p in model.parameters():
                p.grad = None
        n = y.size(0)
        old = group.samples / (group.samples + n)
        for p in model.parameters():
            if p.grad is not None:
                p.grad *= old
        group.samples += n
        group.batches += 1
        loss = criterion(model.forward(x.to(device)), y.to(device=device))
        loss.mul(n / group.samples).backward()
        seen += n
        mean += (float(loss) - mean) * n / seen
        if group.batches >= accumulation_steps:
            optimizer.step()
            group = None
    if group is not None:
        optimizer.step()
    if not seen:
        raise ValueError("no samples")
    return mean
""",
    ),
    Mistake(
        id="looks-one-batch-ahead",
        says="One batch is read ahead, to know the last.",
        rewrite='''
from itertools import chain

import numpy as np
import torch
import torch.nn.functional as F


def _with_last(things):
    """(thing, is it the last), one ahead."""
    things = iter(things)
    try:
        held = next(things)
    except StopIteration:
        return
    for thing in things:
        yield held, False
        held = thing
    yield held, True


def train_epoch_accumulated(model, batches, optimizer, accumulation_steps, device="cpu"):
    try:
        steps = range(accumulation_steps)
    except TypeError:
        raise ValueError("accumulation_steps is no int") from None
    if not steps:
        raise ValueError("accumulation_steps is below 1")
    model.train(True)
    optimizer.zero_grad(set_to_none=True)
    sums, sizes, group = [], [], []
    full = (b for b in batches if b[0].shape[0] > 0)
    for (x, y), last in _with_last(full):
        logits = model(x.to(device, non_blocking=True))
        losses = F.nll_loss(F.log_softmax(logits, -1), y.to(device), reduction="none")
        losses.sum().backward()
        sums.append(losses.detach().sum().cpu().numpy())
        sizes.append(len(y))
        group.append(len(y))
        if last or len(group) == len(steps):
            grads = [p.grad for p in model.parameters() if p.grad is not None]
            torch._foreach_div_(grads, float(np.sum(group)))
            optimizer.step()
            optimizer.zero_grad()
            group = []
    if not sizes:
        raise ValueError("nothing to train on")
    return float(np.sum(sums) / np.sum(sizes))
''',
    ),
    Mistake(
        id="functional",
        says="Pure gradient functions over dictionaries, summed by tree.",
        rewrite="""
from functools import reduce
from operator import add

import torch
from torch.func import functional_call
from torch.nn.functional import cross_entropy


def _value_and_grad(model, x, y):
    params = {k: p for k, p in model.named_parameters() if p.requires_grad}
    value = cross_entropy(functional_call(model, params, (x,)), y, reduction="sum")
    return value.item(), dict(zip(params, torch.autograd.grad(value, params.values())))


def _tree_add(a, b):
    return {k: a[k] + b[k] for k in a}


def _update(model, optimizer, group, device):
    pairs, count = [], 0
    for x, y in group:
        value, grads = _value_and_grad(model, x.to(device), y.to(device))
        pairs.append((value, grads))
        count += y.shape[0]
    total = reduce(_tree_add, (g for _, g in pairs))
    for name, p in model.named_parameters():
        p.grad = total[name] / count if name in total else None
    optimizer.step()
    return reduce(add, (v for v, _ in pairs)), count


def train_epoch_accumulated(model, batches, optimizer, accumulation_steps, device="cpu"):
    if isinstance(accumulation_steps, int) is False or not accumulation_steps > 0:
        raise ValueError("accumulation_steps")
    model.train()
    results, group = [], []
    for batch in batches:
        if len(batch[1]) > 0:
            group = [*group, batch]
        if len(group) == accumulation_steps:
            results.append(_update(model, optimizer, group, device))
            group = []
    if group:
        results.append(_update(model, optimizer, group, device))
    if not results:
        raise ValueError("no samples")
    values, counts = zip(*results)
    return sum(values) / sum(counts)
""",
    ),
    Mistake(
        id="accumulator-class",
        says="A class that takes losses and steps when it is full, flushed on exit.",
        rewrite="""
import math

import torch
from torch import nn


class Accumulator:
    def __init__(self, optimizer, every):
        self.optimizer, self.every = optimizer, every
        self.sizes: list[int] = []
        self.optimizer.zero_grad()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.flush()

    def backward(self, loss_sum, size):
        loss_sum.backward()
        self.sizes.append(size)
        if len(self.sizes) == self.every:
            self.flush()

    @torch.no_grad()
    def flush(self):
        if not self.sizes:
            return
        scale = 1.0 / sum(self.sizes)
        for group in self.optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.mul_(scale)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.sizes.clear()


def train_epoch_accumulated(
    model: nn.Module, batches, optimizer, accumulation_steps, device="cpu"
) -> float:
    if type(accumulation_steps) != int or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be an int >= 1")
    loss_fn = nn.CrossEntropyLoss(reduction="sum")
    model.train()
    losses, count = [], 0
    with Accumulator(optimizer, accumulation_steps) as accumulator:
        for inputs, labels in batches:
            if labels.size(0):
                inputs, labels = inputs.to(device), labels.to(device)
                loss = loss_fn(model(inputs), labels)
                accumulator.backward(loss, labels.size(0))
                losses.append(loss.item())
                count += labels.size(0)
    if count == 0:
        raise ValueError("no samples")
    return math.fsum(losses) / count
""",
    ),
    Mistake(
        id="reads-the-group-while-one-waits",
        says="A full group is trained on when the next batch has been read.",
        edits=(
            (
                FILLED + TAKE + GIVE,
                "    group = []\n"
                "    for batch in batches:\n"
                "        if not len(batch[1]):\n"
                "            continue\n"
                "        if len(group) == size:\n"
                "            yield group\n"
                "            group = []\n"
                "        group.append(batch)\n"
                "    if group:\n"
                "        yield group\n",
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
            (ADD, "            total_loss += loss.detach().float()\n"),
            (MEAN, "    return (total_loss / num_samples).item()\n"),
        ),
    ),
    Mistake(
        id="hooks-divide",
        says="Hooks on the parameters divide each gradient; a deque holds the group.",
        rewrite="""
from collections import deque

import torch.nn.functional as F


def train_epoch_accumulated(model, batches, optimizer, accumulation_steps, device="cpu"):
    if not (isinstance(accumulation_steps, int) and accumulation_steps > 0):
        raise ValueError
    model.train()
    queue, total, seen, divisor = deque(), 0.0, 0, 1
    handles = [
        p.register_hook(lambda g: g / divisor)
        for p in model.parameters()
        if p.requires_grad
    ]

    def drain():
        nonlocal total, seen, divisor
        optimizer.zero_grad()
        divisor = sum(b[1].shape[0] for b in queue)
        while queue:
            x, y = queue.popleft()
            loss = F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum")
            loss.backward()
            total += loss.item()
            seen += y.shape[0]
        optimizer.step()

    try:
        for batch in batches:
            if len(batch[1]) == 0:
                continue
            if len(queue) == accumulation_steps:
                drain()
            queue.append(batch)
        if queue:
            drain()
    finally:
        for handle in handles:
            handle.remove()
    if seen == 0:
        raise ValueError("no samples")
    return total / seen
""",
    ),
    Mistake(
        id="coroutine",
        says="A coroutine takes batches, gives losses back, and steps when told the end.",
        rewrite="""
import torch
from torch import nn


def _stepper(model, optimizer, k):
    sizes, out = [], None
    loss_fn = nn.CrossEntropyLoss(reduction="sum")
    optimizer.zero_grad()
    while True:
        item = yield out
        if item is not None:
            loss = loss_fn(model(item[0]), item[1])
            loss.backward()
            sizes.append(item[1].numel())
            out = loss.item()
        if sizes and (item is None or len(sizes) == k):
            grads = [p.grad for p in model.parameters() if p.requires_grad]
            torch._foreach_mul_(grads, 1 / sum(sizes))
            optimizer.step()
            optimizer.zero_grad()
            sizes.clear()


def train_epoch_accumulated(model, batches, optimizer, accumulation_steps, device="cpu"):
    if accumulation_steps.__class__ is not int or accumulation_steps < 1:
        raise ValueError("steps")
    model.train()
    stepper = _stepper(model, optimizer, accumulation_steps)
    next(stepper)
    total = count = 0
    for x, y in filter(lambda batch: batch[1].nelement(), batches):
        total += stepper.send((x.to(device), y.to(device)))
        count += y.shape[0]
    stepper.send(None)
    if not count:
        raise ValueError("none")
    return total / count
""",
    ),
    Mistake(
        id="harmless-retain",
        says="A retained graph that is gone before the next forward harms nobody.",
        edits=(
            (BACKWARD, BACKWARD.replace("()", "(retain_graph=True)")),
            (ADD, ADD + "            del loss\n"),
        ),
    ),
    Mistake(
        id="subclass-of-valueerror",
        says="A ValueError of one's own.",
        edits=(
            (
                "def train_epoch_accumulated(",
                "class NoSamples(ValueError):\n    pass\n\n\ndef train_epoch_accumulated(",
            ),
            ('raise ValueError("no', 'raise NoSamples("no'),
        ),
    ),
)
