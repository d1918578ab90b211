"""What people get wrong in `evaluate`, and unusual code that is right."""

from checks.mistakes import Mistake

NO_GRAD = (
    "@torch.no_grad()  # gives the caller's grad mode back, also when a batch raises\n"
)
EVAL = "    model.eval()\n"
START = "    total_loss, num_correct, num_samples = 0.0, 0, 0\n"
LOOP = "    for features, targets in batches:\n"
GUARD = "        if len(targets) == 0:\n            continue\n"
MOVE = "        features, targets = features.to(device), targets.to(device)\n"
FORWARD = "        logits = model(features)\n"
LOSS = "        loss = F.cross_entropy(logits, targets)\n"
NOTE = "        # .item() waits for the GPU; where that matters, add up tensors and read once.\n"
ADD = "        total_loss += loss.item() * len(targets)\n"
HITS = "        num_correct += (logits.argmax(dim=1) == targets).sum().item()\n"
COUNT = "        num_samples += len(targets)\n"
END = "    if num_samples == 0:\n"
RAISE = (
    '        raise ValueError("no samples: every batch was empty, or there was none")\n'
)
MEAN = "    return total_loss / num_samples, num_correct / num_samples\n"

# Everything from the loop to the result, for slips that wrap it whole.
BODY = (
    LOOP
    + GUARD
    + MOVE
    + FORWARD
    + LOSS
    + NOTE
    + ADD
    + HITS
    + COUNT
    + END
    + RAISE
    + MEAN
)


def indented(text: str, by: str = "    ") -> str:
    """Indent each line."""
    return "".join(by + line for line in text.splitlines(keepends=True))


SWITCH_OFF = "    was = torch.is_grad_enabled()\n    torch.set_grad_enabled(False)\n"

SHARES = (
    (START, START + "    shares = []\n"),
    (
        HITS,
        "        shares.append((logits.argmax(1) == targets).double().mean().item())\n",
    ),
    (MEAN, "    return total_loss / num_samples, sum(shares) / len(shares)\n"),
)

MISTAKES = (
    Mistake(
        id="no-eval-mode",
        says="You never put the model in eval mode: dropout drops and BatchNorm moves "
        "its statistics while you measure. Look at what comes before the loop.",
        edits=((EVAL, ""),),
        caught_by={
            "evaluates_in_eval_mode",
            "evaluation_repeats_itself_under_dropout",
        },
        source="udacity/deep-learning-v2-pytorch#3",
        forms=(
            ((EVAL, "    model.eval\n"),),
            ((EVAL, "    model.training = False\n"),),
            (
                (
                    EVAL,
                    "    for child in model.children():\n        child.training = False\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="eval-only-if-training",
        says="You switch to eval mode only when the model's own flag says train: a child "
        "that was put into train mode alone stays there. Look at whose flag you ask.",
        edits=((EVAL, "    if model.training:\n        model.eval()\n"),),
        caught_by={"evaluates_in_eval_mode"},
    ),
    Mistake(
        id="root-stays-in-train-mode",
        says="You put the children in eval mode and not the model itself: what its own "
        "forward asks of self.training is still train. Look at what you call eval() on.",
        edits=((EVAL, "    for child in model.children():\n        child.eval()\n"),),
        caught_by={"evaluates_in_eval_mode"},
    ),
    Mistake(
        id="eval-after-first-batch",
        says="You set eval mode after the first forward: the first batch is measured in "
        "train mode. Look at what comes before the loop.",
        edits=((EVAL, ""), (COUNT, COUNT + EVAL.replace("    ", "        "))),
        caught_by={"evaluates_in_eval_mode"},
        forms=(
            ((EVAL, ""), (FORWARD, FORWARD + "        model.eval()\n")),
            # and once more whatever happens
            (
                (
                    EVAL + START + BODY,
                    START
                    + "    try:\n"
                    + indented(BODY.replace(COUNT, COUNT + "        model.eval()\n"))
                    + "    finally:\n        model.eval()\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="eval-mode-at-the-end",
        says="You measure in the mode that you find, and set eval mode at the end. Look "
        "at what comes before the loop.",
        edits=((EVAL, ""), (END, EVAL + END)),
        caught_by={"evaluates_in_eval_mode"},
    ),
    Mistake(
        id="eval-inside-the-loop",
        says="You set eval mode for each batch, once it has been read: when the first "
        "one cannot be read, the model stays in train mode. Look at where eval() stands.",
        edits=((EVAL, ""), (MOVE, "        model.eval()\n" + MOVE)),
        caught_by={"eval_mode_survives_an_error"},
    ),
    Mistake(
        id="restores-train-mode",
        says="You put the model back into train mode: here the caller is promised eval "
        "mode. Look at what happens after the loop.",
        edits=((MEAN, "    model.train()\n" + MEAN),),
        caught_by={"leaves_the_model_in_eval_mode"},
        source="jeanfeydy/geomloss#49",
        forms=(
            (
                (EVAL, "    was_training = model.training\n    model.eval()\n"),
                (MEAN, "    model.train(was_training)\n" + MEAN),
            ),
            (
                (EVAL, "    modes = [m.training for m in model.modules()]\n" + EVAL),
                (
                    BODY,
                    "    try:\n"
                    + indented(BODY)
                    + "    finally:\n"
                    + "        for module, mode in zip(model.modules(), modes):\n"
                    + "            module.training = mode\n",
                ),
            ),
            # in finally: also when something raises
            (
                (
                    BODY,
                    "    try:\n"
                    + indented(BODY)
                    + "    finally:\n        model.train()\n",
                ),
            ),
            (
                (EVAL, "    was_training = model.training\n    model.eval()\n"),
                (
                    BODY,
                    "    try:\n"
                    + indented(BODY)
                    + "    finally:\n        model.train(was_training)\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="train-mode-on-error",
        says="You put the model into train mode when something raises: it is left in "
        "eval mode however this ends. Look at your except or finally.",
        edits=(
            (
                BODY,
                "    try:\n"
                + indented(BODY)
                + "    except Exception:\n        model.train()\n        raise\n",
            ),
        ),
        caught_by={"eval_mode_survives_an_error"},
    ),
    Mistake(
        id="evaluates-a-copy",
        says="You set eval mode on a copy: the model that was handed in keeps its own "
        "mode. Look at whose eval() you call.",
        edits=(
            ("import torch\n", "import copy\n\nimport torch\n"),
            (EVAL, "    model = copy.deepcopy(model).eval()\n"),
        ),
        caught_by={"leaves_the_model_in_eval_mode"},
    ),
    Mistake(
        id="no-no-grad",
        says="You evaluate with gradients on: each forward records a graph for a "
        "backward that never comes. Look at what surrounds the call of the model.",
        edits=((NO_GRAD, ""),),
        caught_by={"no_gradient_is_recorded"},
        source="henryhungle/MTN#7",
        forms=(
            # switched off for the loss, when the forward has already recorded
            (
                (NO_GRAD, ""),
                (
                    LOSS,
                    "        with torch.no_grad():\n"
                    "            loss = F.cross_entropy(logits, targets)\n",
                ),
            ),
            # made and thrown away
            ((NO_GRAD, ""), (EVAL, EVAL + "    torch.no_grad()\n")),
            # detached when it is too late
            ((NO_GRAD, ""), (FORWARD, "        logits = model(features).detach()\n")),
            # switched off for the inputs, which never asked for gradients
            ((NO_GRAD, ""), (MOVE, MOVE + "        features.requires_grad_(False)\n")),
        ),
    ),
    Mistake(
        id="no-grad-after-first-batch",
        says="You switch gradients off after the first forward. Look at where that is.",
        edits=(
            (NO_GRAD, ""),
            (START, START + "    was = torch.is_grad_enabled()\n"),
            (LOSS, "        torch.set_grad_enabled(False)\n" + LOSS),
            (
                BODY[BODY.index(END) :],
                "    torch.set_grad_enabled(was)\n" + END + RAISE + MEAN,
            ),
        ),
        caught_by={"no_gradient_is_recorded"},
        forms=(
            (
                (NO_GRAD, ""),
                (START, START + "    was = torch.is_grad_enabled()\n"),
                (
                    BODY,
                    "    try:\n"
                    + indented(
                        BODY.replace(
                            LOSS, "        torch.set_grad_enabled(False)\n" + LOSS
                        )
                    )
                    + "    finally:\n        torch.set_grad_enabled(was)\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="gradients-back-on-inside",
        says="Your forward runs where gradients are switched on again. Look at what is "
        "nearest to the call of the model.",
        edits=(
            (
                FORWARD,
                "        with torch.enable_grad():\n            logits = model(features)\n",
            ),
        ),
        caught_by={"no_gradient_is_recorded"},
    ),
    Mistake(
        id="leaks-grad-mode",
        says="You switch gradients off and never back on: the caller's next backward "
        "fails, far from here. Look at what outlives the call.",
        edits=((NO_GRAD, ""), (EVAL, EVAL + "    torch.set_grad_enabled(False)\n")),
        caught_by={"grad_mode_is_as_before"},
        source="Lightning-AI/pytorch-lightning#2180",
        forms=(
            ((NO_GRAD, ""), (EVAL, EVAL + "    torch.no_grad().__enter__()\n")),
            (
                (NO_GRAD, ""),
                (LOOP, LOOP + "        torch._C._set_grad_enabled(False)\n"),
            ),
        ),
    ),
    Mistake(
        id="grad-mode-lost-on-error",
        says="You switch gradients back only when all goes well: after a batch that "
        "raises they stay off. Look at what runs on the way out of an exception.",
        edits=(
            (NO_GRAD, ""),
            (
                EVAL,
                EVAL
                + "    was = torch.is_grad_enabled()\n    torch.set_grad_enabled(False)\n",
            ),
            (MEAN, "    torch.set_grad_enabled(was)\n" + MEAN),
        ),
        caught_by={"grad_mode_survives_an_error"},
        source="Lightning-AI/pytorch-lightning#2180",
        forms=(
            (
                (NO_GRAD, ""),
                (EVAL, EVAL + "    off = torch.no_grad()\n    off.__enter__()\n"),
                (MEAN, "    off.__exit__(None, None, None)\n" + MEAN),
            ),
            # each forward by itself: a model that raises leaves them off
            (
                (NO_GRAD, ""),
                (
                    FORWARD,
                    "        was = torch.is_grad_enabled()\n"
                    "        torch.set_grad_enabled(False)\n"
                    "        logits = model(features)\n"
                    "        torch.set_grad_enabled(was)\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="grad-mode-forced-on",
        says="You switch gradients on at the end, whatever was there: the caller's own "
        "no_grad is undone. Look at what you put back.",
        edits=(
            (NO_GRAD, ""),
            (EVAL, EVAL + "    torch.set_grad_enabled(False)\n"),
            (
                BODY,
                "    try:\n"
                + indented(BODY)
                + "    finally:\n        torch.set_grad_enabled(True)\n",
            ),
        ),
        caught_by={"grad_mode_is_as_before"},
        source="jeanfeydy/geomloss#49",
        forms=(
            (
                (MEAN, "    torch.set_grad_enabled(True)\n" + MEAN),
                (NO_GRAD, ""),
                (EVAL, EVAL + "    torch.set_grad_enabled(False)\n"),
            ),
            # off and on for each batch
            (
                (NO_GRAD, ""),
                (
                    FORWARD,
                    "        torch.set_grad_enabled(False)\n"
                    + FORWARD
                    + "        torch.set_grad_enabled(True)\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="grad-mode-forced-on-after-error",
        says="When something raises you switch gradients on, whatever was there. Look at "
        "what you put back.",
        edits=(
            (NO_GRAD, ""),
            (
                EVAL,
                EVAL
                + "    was = torch.is_grad_enabled()\n    torch.set_grad_enabled(False)\n",
            ),
            (
                BODY,
                "    try:\n"
                + indented(
                    BODY.replace(MEAN, "    torch.set_grad_enabled(was)\n" + MEAN)
                )
                + "    except Exception:\n"
                + "        torch.set_grad_enabled(True)\n        raise\n",
            ),
        ),
        caught_by={"grad_mode_survives_an_error"},
    ),
    Mistake(
        id="swallows-some-errors",
        says="You catch one kind of error that the model raises and go on to the next "
        "batch: the numbers are those of a part of the data. Look at your except.",
        edits=(
            (
                FORWARD,
                "        try:\n            logits = model(features)\n"
                "        except torch.OutOfMemoryError:\n            continue\n",
            ),
        ),
        caught_by={"no_kind_of_error_is_swallowed"},
    ),
    Mistake(
        id="unstable-cross-entropy",
        says="You take the logarithm of a softmax, or of a sum of exponentials: with "
        "logits far apart it is 0 or infinite. Look at what torch does in one piece.",
        edits=(
            (
                LOSS,
                "        own = logits.softmax(1)[range(len(targets)), targets]\n"
                "        loss = -(own + 1e-8).log().mean()\n",
            ),
        ),
        caught_by={"logits_far_apart_are_measured_too"},
        forms=(
            (
                (
                    LOSS,
                    "        own = logits[range(len(targets)), targets]\n"
                    "        loss = (logits.exp().sum(1).log() - own).mean()\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="skips-non-finite-losses",
        says="You leave out batches whose loss is not finite: the worst samples of all "
        "drop out of the mean. Look at what you skip.",
        edits=(
            (
                LOSS,
                LOSS + "        if not torch.isfinite(loss):\n            continue\n",
            ),
        ),
        caught_by={"logits_far_apart_are_measured_too"},
    ),
    Mistake(
        id="stops-early",
        says="You leave the loop after so many batches: the rest of the data is never "
        "measured. Look at what ends the loop.",
        edits=((COUNT, COUNT + "        if num_samples >= 100:\n            break\n"),),
        caught_by={"loss_weighs_every_sample_once"},
    ),
    Mistake(
        id="swallows-errors",
        says="You catch what the batches or the model raise and go on: the numbers are "
        "those of a part of the data, and nobody knows. Look at your except.",
        edits=(
            (
                FORWARD,
                "        try:\n            logits = model(features)\n"
                "        except Exception:\n            continue\n",
            ),
        ),
        caught_by={"errors_reach_the_caller"},
        forms=(
            # as people skip what does not fit into memory, or cannot be read
            (
                (
                    FORWARD,
                    "        try:\n            logits = model(features)\n"
                    "        except RuntimeError:\n"
                    "            torch.cuda.empty_cache()\n            continue\n",
                ),
            ),
            (
                (
                    LOOP,
                    "    stream = iter(batches)\n    while True:\n        try:\n"
                    "            features, targets = next(stream)\n"
                    "        except (StopIteration, OSError):\n            break\n",
                ),
            ),
            (
                (
                    LOOP + GUARD + MOVE + FORWARD + LOSS + NOTE + ADD + HITS + COUNT,
                    "    try:\n"
                    + indented(
                        LOOP + GUARD + MOVE + FORWARD + LOSS + NOTE + ADD + HITS + COUNT
                    )
                    + "    except Exception as error:\n        print(error)\n",
                ),
            ),
            (
                (
                    LOOP,
                    "    stream = iter(batches)\n    while True:\n        try:\n"
                    "            features, targets = next(stream)\n"
                    "        except Exception:\n            break\n",
                ),
            ),
            (
                (
                    BODY,
                    "    try:\n"
                    + indented(BODY)
                    + "    except RuntimeError:\n        raise\n"
                    + "    except ValueError:\n        raise\n"
                    + '    except Exception:\n        return float("nan"), 0.0\n',
                ),
            ),
            # the first model that raises ends it
            (
                (
                    FORWARD,
                    "        try:\n            logits = model(features)\n"
                    "        except Exception:\n            break\n",
                ),
            ),
            # whatever raises is skipped
            (
                (
                    LOOP,
                    "    stream = iter(batches)\n    while True:\n        try:\n"
                    "            features, targets = next(stream)\n"
                    "        except StopIteration:\n            break\n"
                    "        except Exception:\n            continue\n",
                ),
                (
                    FORWARD,
                    "        try:\n            logits = model(features)\n"
                    "        except Exception:\n            continue\n",
                ),
            ),
            # made a result
            (
                (
                    LOOP + GUARD + MOVE + FORWARD + LOSS + NOTE + ADD + HITS + COUNT,
                    "    try:\n"
                    + indented(
                        LOOP + GUARD + MOVE + FORWARD + LOSS + NOTE + ADD + HITS + COUNT
                    )
                    + "    except Exception:\n        return 0.0, 0.0\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="mean-of-batch-means",
        says="Your loss is the mean of the batch means: a short last batch counts as "
        "much as a full one. Look at what each batch's loss is multiplied by.",
        edits=(
            (START, START + "    num_batches = 0\n"),
            (ADD, "        total_loss += loss.item()\n        num_batches += 1\n"),
            (MEAN, "    return total_loss / num_batches, num_correct / num_samples\n"),
        ),
        caught_by={"batches_of_4_and_1_weigh_to_1_4", "loss_weighs_every_sample_once"},
        source="Lightning-AI/pytorch-lightning#2924",
        forms=(
            (
                (START, START + "    losses = []\n"),
                (ADD, "        losses.append(loss)\n"),
                (
                    MEAN,
                    "    return torch.stack(losses).mean().item(), num_correct / num_samples\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="sum-of-means-by-samples",
        says="You add up batch means and divide by the number of samples: the loss is "
        "too small by about the batch size. Look at what is added up.",
        edits=((ADD, "        total_loss += loss.item()\n"),),
        caught_by={"loss_is_mean_cross_entropy"},
        source="Justin-A/DeepLearning101#14",
    ),
    Mistake(
        id="divides-by-batches",
        says="You weigh each loss by its batch's size and then divide by the number of "
        "batches. Look at the divisor: it must count samples.",
        edits=(
            (START, START + "    num_batches = 0\n"),
            (COUNT, COUNT + "        num_batches += 1\n"),
            (MEAN, "    return total_loss / num_batches, num_correct / num_samples\n"),
        ),
        caught_by={"loss_is_mean_cross_entropy"},
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
        caught_by={"batches_of_4_and_1_weigh_to_1_4", "loss_weighs_every_sample_once"},
        source="mitmul/chainer-cifar10#1",
        forms=(
            (
                (START, START + "    batch_size = 0\n"),
                (MOVE, MOVE + "        batch_size = batch_size or len(targets)\n"),
                (ADD, "        total_loss += loss.item() * batch_size\n"),
                (COUNT, "        num_samples += batch_size\n"),
            ),
        ),
    ),
    Mistake(
        id="last-batch-loss",
        says="You return the loss of the last batch as that of all. Look at what is kept "
        "from one batch to the next.",
        edits=((MEAN, "    return loss.item(), num_correct / num_samples\n"),),
        caught_by={"batches_of_4_and_1_weigh_to_1_4", "loss_weighs_every_sample_once"},
        source="NVIDIA/DeepLearningExamples#299",
    ),
    Mistake(
        id="mean-of-batch-accuracies",
        says="Your accuracy is the mean of the batch accuracies: a short last batch "
        "counts as much as a full one. Look at what is counted, and when it is divided.",
        edits=SHARES,
        caught_by={
            "batches_of_4_and_1_weigh_to_1_4",
            "accuracy_weighs_every_sample_once",
        },
        source="mlcommons/training#89",
    ),
    Mistake(
        id="last-batch-accuracy",
        says="You return the accuracy of the last batch as that of all. Look at what is "
        "kept from one batch to the next.",
        edits=(
            (HITS, HITS.replace("+=", "=")),
            (MEAN, "    return total_loss / num_samples, num_correct / len(targets)\n"),
        ),
        caught_by={"batches_of_4_and_1_weigh_to_1_4"},
        source="xiaolai-sqlai/gluon-reid#8",
        forms=(((HITS, HITS.replace("+=", "=")),),),
    ),
    Mistake(
        id="argmax-over-batch",
        says="You take the largest logit over the batch instead of over the classes: "
        "logits are [B, C]. Look at the dimension of argmax.",
        edits=((HITS, HITS.replace("dim=1", "dim=0")),),
        caught_by={"accuracy_is_the_share_of_right_predictions"},
        forms=(
            ((HITS, HITS.replace("argmax(dim=1)", "argmax()")),),
            ((HITS, HITS.replace("argmax(dim=1)", "max(0).indices")),),
            # compared one by one, as far as both go
            (
                (
                    HITS,
                    "        pairs = zip(logits.max(0)[1].tolist(), targets.tolist())\n"
                    "        num_correct += sum(p == t for p, t in pairs)\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="maximum-for-its-place",
        says="You compare targets with something else than the place of the largest "
        "logit: with its value, say, or the place of the smallest. Look at what max returns.",
        edits=((HITS, HITS.replace("argmax(dim=1)", "max(dim=1).values")),),
        caught_by={"accuracy_is_the_share_of_right_predictions"},
        forms=(((HITS, HITS.replace("argmax(dim=1)", "argmin(dim=1)")),),),
    ),
    Mistake(
        id="compares-all-pairs",
        says="Your comparison broadcasts: predictions [B, 1] against targets [B] compare "
        "each with each. Look at the shapes on both sides.",
        edits=((HITS, HITS.replace("dim=1", "dim=1, keepdim=True")),),
        caught_by={"accuracy_is_the_share_of_right_predictions"},
        forms=(
            ((HITS, HITS.replace("argmax(dim=1)", "topk(1).indices")),),
            ((HITS, HITS.replace("== targets)", "== targets[:, None])")),),
        ),
    ),
    Mistake(
        id="accuracy-in-percent",
        says="You return percent; asked is a share between 0 and 1. Look at the last line.",
        edits=((MEAN, MEAN.replace("num_correct /", "100 * num_correct /")),),
        caught_by={"accuracy_is_the_share_of_right_predictions"},
    ),
    Mistake(
        id="accuracy-not-divided",
        says="You never divide the number of right predictions by the number of samples: "
        "asked is a share. Look at the last line.",
        edits=((MEAN, "    return total_loss / num_samples, float(num_correct)\n"),),
        caught_by={"accuracy_is_the_share_of_right_predictions"},
        forms=(
            # divided by batches
            (
                (START, START + "    num_batches = 0\n"),
                (COUNT, COUNT + "        num_batches += 1\n"),
                (
                    MEAN,
                    "    return total_loss / num_samples, num_correct / num_batches\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="error-rate",
        says="You count wrong predictions. Look at the comparison.",
        edits=((HITS, HITS.replace("==", "!=")),),
        caught_by={"accuracy_is_the_share_of_right_predictions"},
    ),
    Mistake(
        id="integer-division",
        says="You divide integers without decimals: every accuracy below 1 becomes 0. "
        "Look at the last line.",
        edits=((MEAN, MEAN.replace("num_correct /", "num_correct //")),),
        caught_by={"accuracy_is_the_share_of_right_predictions"},
        forms=(
            (
                (
                    MEAN,
                    MEAN.replace("num_correct /", "1.0 * (num_correct //").replace(
                        "samples\n", "samples)\n"
                    ),
                ),
            ),
            (
                (HITS, HITS.replace(".item()", "")),
                (
                    MEAN,
                    "    share = torch.div(num_correct, num_samples, rounding_mode='floor')\n"
                    "    return total_loss / num_samples, float(share)\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="counts-in-eight-bits",
        says="You count right predictions in a type that is too narrow: it wraps. Look "
        "at the type of the counter.",
        edits=(
            (START, START + "    num_correct = torch.zeros((), dtype=torch.uint8)\n"),
            (HITS, HITS.replace(".item()", "")),
            (
                MEAN,
                "    return total_loss / num_samples, num_correct.item() / num_samples\n",
            ),
        ),
        caught_by={"accuracy_weighs_every_sample_once"},
        forms=(((HITS, HITS.replace(".sum()", ".sum(dtype=torch.uint8)")),),),
    ),
    Mistake(
        id="softmax-before-ce",
        says="You apply softmax before cross entropy, which takes raw logits and applies "
        "log-softmax itself: even a perfect model gets a loss of 0.7. Look at what goes "
        "into the loss.",
        edits=((LOSS, "        loss = F.cross_entropy(logits.softmax(1), targets)\n"),),
        caught_by={"loss_is_mean_cross_entropy"},
        source="ariecattan/SciCo#2",
        forms=(
            ((FORWARD, "        logits = torch.softmax(model(features), dim=-1)\n"),),
        ),
    ),
    Mistake(
        id="nll-loss-without-log",
        says="You give nll_loss what are no log-probabilities: it only picks the "
        "targets' numbers and turns their sign. Look at what goes into the loss.",
        edits=((LOSS, "        loss = F.nll_loss(logits.softmax(1), targets)\n"),),
        caught_by={"loss_is_mean_cross_entropy"},
        forms=(((LOSS, "        loss = F.nll_loss(logits, targets)\n"),),),
    ),
    Mistake(
        id="sum-reduction",
        says="You weigh a loss that is a sum already, so each sample counts as often as "
        "its batch is long. Look at the loss's reduction.",
        edits=((LOSS, LOSS.replace("targets)", 'targets, reduction="sum")')),),
        caught_by={"loss_is_mean_cross_entropy"},
    ),
    Mistake(
        id="swaps-the-results",
        says="You return accuracy before loss. Look at the order that is asked.",
        edits=(
            (MEAN, "    return num_correct / num_samples, total_loss / num_samples\n"),
        ),
        caught_by={"returns_loss_and_accuracy"},
    ),
    Mistake(
        id="returns-no-tuple",
        says="You return something else than a tuple of loss and accuracy. Look at the "
        "signature.",
        edits=((MEAN, "    return total_loss / num_samples\n"),),
        caught_by={"returns_loss_and_accuracy"},
        forms=(
            (
                (
                    MEAN,
                    "    return {\n"
                    '        "loss": total_loss / num_samples,\n'
                    '        "accuracy": num_correct / num_samples,\n    }\n',
                ),
            ),
            (
                (
                    MEAN,
                    "    return [total_loss / num_samples, num_correct / num_samples]\n",
                ),
            ),
            ((MEAN, MEAN.replace("\n", ", num_samples\n")),),
            ((MEAN, '    print(f"{total_loss / num_samples:.3f}")\n'),),
        ),
    ),
    Mistake(
        id="returns-tensors",
        says="You return something else than two floats, tensors for example: they keep "
        "their device, and print and compare in other ways. Look at the types of the totals.",
        edits=((ADD, ADD.replace(".item()", "")), (HITS, HITS.replace(".item()", ""))),
        caught_by={"both_numbers_are_floats"},
        forms=(
            ((ADD, ADD.replace(".item()", "")),),
            ((HITS, HITS.replace(".item()", "")),),
            (
                (
                    MEAN,
                    "    return total_loss / num_samples, f'{num_correct / num_samples}'\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="rounds-result",
        says="You round: small improvements vanish. Look at the last line.",
        edits=(
            (
                MEAN,
                "    loss, accuracy = total_loss / num_samples, num_correct / num_samples\n"
                "    return round(loss, 3), round(accuracy, 3)\n",
            ),
        ),
        caught_by={"loss_is_mean_cross_entropy"},
        forms=(
            (
                (
                    MEAN,
                    MEAN.replace(
                        "total_loss / num_samples", "round(total_loss / num_samples, 4)"
                    ),
                ),
            ),
        ),
    ),
    Mistake(
        id="rounds-accuracy",
        says="You round the accuracy: small improvements vanish. Look at the last line.",
        edits=(
            (
                MEAN,
                MEAN.replace(
                    "num_correct / num_samples", "round(num_correct / num_samples, 4)"
                ),
            ),
        ),
        caught_by={"accuracy_is_the_share_of_right_predictions"},
    ),
    Mistake(
        id="no-empty-guard",
        says="You forward empty batches: their mean loss is NaN, which spoils the whole "
        "mean. Look at len(targets).",
        edits=((GUARD, ""),),
        caught_by={"an_empty_batch_is_passed_over"},
        forms=(
            # the loss is kept clean, the forward stays
            ((GUARD, ""), (ADD, "        if len(targets):\n    " + ADD)),
            ((GUARD, ""), (LOSS, LOSS.replace("\n", ".nan_to_num()\n"))),
            # a mean over nothing for both
            (
                (GUARD, ""),
                (
                    HITS,
                    "        share = (logits.argmax(1) == targets).double().mean()\n"
                    "        num_correct += share.item() * len(targets)\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="stops-at-empty-batch",
        says="You stop at the first empty batch: what comes after it is never looked at. "
        "Look at how the loop leaves it.",
        edits=((GUARD, GUARD.replace("continue", "break")),),
        caught_by={"an_empty_batch_is_passed_over"},
    ),
    Mistake(
        id="empty-batch-is-an-error",
        says="You refuse an empty batch: only data without any sample is an error. Look "
        "at where you raise.",
        edits=(
            (
                GUARD,
                '        if len(targets) == 0:\n            raise ValueError("empty")\n',
            ),
        ),
        caught_by={"an_empty_batch_is_passed_over"},
    ),
    Mistake(
        id="counts-empty-as-batch",
        says="Your divisor counts empty batches too. Look at where the count grows.",
        edits=(
            (START, START + "    num_empty = 0\n"),
            (
                GUARD,
                GUARD.replace(
                    "            continue",
                    "            num_empty += 1\n            continue",
                ),
            ),
            (MEAN, "    num_samples += num_empty\n" + MEAN),
        ),
        caught_by={"an_empty_batch_is_passed_over"},
        forms=(
            (
                (
                    GUARD,
                    GUARD.replace(
                        "            continue",
                        "            num_samples += max(len(targets), 1)\n"
                        "            continue",
                    ),
                ),
                (END, "    if total_loss == 0:\n"),
            ),
        ),
    ),
    Mistake(
        id="no-samples-returns-zero",
        says="You return numbers where there was no sample: a broken data set would look "
        "like a result. Look at what there is to divide by.",
        edits=((RAISE, "        return 0.0, 0.0\n"),),
        caught_by={"empty_data_is_refused"},
        forms=(
            (
                (END + RAISE, ""),
                (
                    MEAN,
                    "    num_samples = max(num_samples, 1)\n" + MEAN,
                ),
            ),
            ((RAISE, '        return float("nan"), float("nan")\n'),),
            ((RAISE, "        return None\n"),),
        ),
    ),
    Mistake(
        id="no-samples-divides-by-zero",
        says="You divide by zero where there was no sample: ZeroDivisionError is not the "
        "ValueError that says what is wrong. Look at the last line.",
        edits=((END + RAISE, ""),),
        caught_by={"empty_data_is_refused"},
        forms=(
            # counts batches, or looks whether there is a first one
            (
                (START, START + "    num_batches = 0\n"),
                (LOOP, LOOP + "        num_batches += 1\n"),
                (END, "    if num_batches == 0:\n"),
            ),
        ),
    ),
    Mistake(
        id="asserts-instead-of-valueerror",
        says="Without a sample you end in another error than ValueError: an assert, which "
        "`python -O` drops, or what a call happens to raise. Look at what is raised.",
        edits=((END + RAISE, '    assert num_samples, "no samples"\n'),),
        caught_by={"empty_data_is_refused"},
        forms=(((RAISE, RAISE.replace("ValueError", "RuntimeError")),),),
    ),
    Mistake(
        id="asks-the-list-whether-it-is-empty",
        says="You ask the batches themselves whether there are any: a generator is "
        "always true, and a list may hold nothing but empty batches. Look at what only "
        "the loop can know.",
        edits=(
            (END + RAISE, ""),
            (
                START,
                '    if not batches:\n        raise ValueError("no data")\n' + START,
            ),
        ),
        caught_by={"empty_data_is_refused"},
        forms=(
            (
                (END + RAISE, ""),
                (
                    START,
                    "    if len(batches) == 0:\n"
                    '        raise ValueError("no data")\n' + START,
                ),
            ),
        ),
    ),
    Mistake(
        id="zeroes-grads",
        says="You clear the gradients: they are the caller's, who may be in the middle "
        "of an accumulation. Look at what an evaluation has to do with them.",
        edits=((EVAL, EVAL + "    model.zero_grad()\n"),),
        caught_by={"nothing_of_the_model_changes"},
        forms=(
            ((EVAL, EVAL + "    model.zero_grad(set_to_none=False)\n"),),
            ((END, "    for p in model.parameters():\n        p.grad = None\n" + END),),
        ),
    ),
    Mistake(
        id="runs-backward",
        says="You run backward while evaluating: the gradients end in the caller's next "
        "update. Look at what the training loop left behind in yours.",
        edits=(
            (NO_GRAD, ""),
            (LOSS, LOSS + "        loss.backward()\n"),
        ),
        caught_by={"nothing_of_the_model_changes", "no_gradient_is_recorded"},
        source="fengxinjie/Transformer-OCR#7",
    ),
    Mistake(
        id="toggles-requires-grad",
        says="You switch requires_grad off to record nothing: the parameters stay "
        "frozen, or what was frozen thaws. Look at what works without touching them.",
        edits=((EVAL, EVAL + "    model.requires_grad_(False)\n"),),
        caught_by={"nothing_of_the_model_changes"},
        forms=(
            # switched on whatever happens
            (
                (NO_GRAD, ""),
                (
                    START + BODY,
                    "    model.requires_grad_(False)\n    try:\n"
                    + indented(START + BODY)
                    + "    finally:\n        model.requires_grad_(True)\n",
                ),
            ),
            (
                (
                    START + BODY,
                    "    model.requires_grad_(False)\n    try:\n"
                    + indented(START + BODY)
                    + "    finally:\n        model.requires_grad_(True)\n",
                ),
            ),
            (
                (EVAL, EVAL + "    model.requires_grad_(False)\n"),
                (MEAN, "    model.requires_grad_(True)\n" + MEAN),
            ),
            (
                (NO_GRAD, ""),
                (
                    EVAL,
                    EVAL
                    + "    for p in model.parameters():\n        p.requires_grad = False\n",
                ),
                (
                    MEAN,
                    "    for p in model.parameters():\n        p.requires_grad = True\n"
                    + MEAN,
                ),
            ),
            ((NO_GRAD, ""), (EVAL, EVAL + "    model.requires_grad_(False)\n")),
        ),
    ),
    Mistake(
        id="toggles-requires-grad-and-back",
        says="You switch requires_grad off and on again instead of the grad mode: "
        "gradients are still on, and unless it is switched back on the way out of an error, "
        "the model stays frozen. Look at what works without touching the parameters.",
        edits=(
            (NO_GRAD, ""),
            (
                EVAL,
                EVAL
                + "    flags = [(p, p.requires_grad) for p in model.parameters()]\n"
                + "    model.requires_grad_(False)\n",
            ),
            (
                MEAN,
                "    for p, flag in flags:\n        p.requires_grad = flag\n" + MEAN,
            ),
        ),
        caught_by={"no_gradient_is_recorded"},
        forms=(
            (
                (NO_GRAD, ""),
                (
                    EVAL,
                    EVAL
                    + "    flags = [(p, p.requires_grad) for p in model.parameters()]\n"
                    + "    model.requires_grad_(False)\n",
                ),
                (
                    BODY,
                    "    try:\n"
                    + indented(BODY)
                    + "    finally:\n        for p, flag in flags:\n"
                    + "            p.requires_grad = flag\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="resets-batchnorm",
        says="You reset BatchNorm's statistics before measuring: eval mode needs those of "
        "training. Look at what you change of the model.",
        edits=(
            (
                EVAL,
                EVAL
                + "    for module in model.modules():\n"
                + "        if isinstance(module, nn.BatchNorm1d):\n"
                + "            module.running_mean.add_(1.0)\n",
            ),
        ),
        caught_by={"nothing_of_the_model_changes"},
    ),
    Mistake(
        id="keeps-totals-between-calls",
        says="Your totals live on after the call: the second evaluation adds to the "
        "first. Look at where they are made.",
        edits=(
            (
                NO_GRAD,
                "_sums = {'loss': 0.0, 'correct': 0, 'samples': 0}\n\n\n" + NO_GRAD,
            ),
            (ADD, "        _sums['loss'] += loss.item() * len(targets)\n"),
            (HITS, HITS.replace("num_correct", "_sums['correct']")),
            (COUNT, COUNT + "        _sums['samples'] += len(targets)\n"),
            (
                MEAN,
                "    return _sums['loss'] / _sums['samples'], "
                "_sums['correct'] / _sums['samples']\n",
            ),
        ),
        caught_by={"loss_is_mean_cross_entropy"},
        source="Lightning-AI/torchmetrics#637",
    ),
    Mistake(
        id="extra-forward",
        says="You call the model twice a batch, once for the loss and once for the "
        "predictions: evaluation takes twice as long. Look at what one forward gives.",
        edits=((HITS, HITS.replace("logits.", "model(features).")),),
        caught_by={"calls_the_model_once_a_batch"},
        forms=(((FORWARD, "        model(features)\n" + FORWARD),),),
    ),
    Mistake(
        id="skips-last-batch",
        says="You leave out the last batch, or each that is not full. Look at how the loop "
        "ends, and at what it passes over.",
        edits=(
            (
                LOOP,
                "    previous = None\n    for following in batches:\n"
                "        if previous is None:\n            previous = following\n"
                "            continue\n"
                "        (features, targets), previous = previous, following\n",
            ),
        ),
        caught_by={"calls_the_model_once_a_batch"},
        source="OpenADMET/openadmet-models#571",
        forms=(
            # all but full batches
            (
                (START, START + "    batch_size = None\n"),
                (
                    GUARD,
                    GUARD
                    + "        batch_size = batch_size or len(targets)\n"
                    + "        if len(targets) != batch_size:\n            continue\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="one-sample-at-a-time",
        says="You forward each sample by itself: a batch reaches the model as it came. "
        "Look at what is called inside the loop.",
        edits=(
            (
                FORWARD,
                "        logits = torch.cat([model(row[None]) for row in features])\n",
            ),
        ),
        caught_by={"calls_the_model_once_a_batch"},
    ),
    Mistake(
        id="len-of-batches",
        says="You ask the batches for their length: a generator has none. Look at what "
        "you need it for.",
        edits=((START, START + "    num_batches = len(batches)\n"),),
        caught_by={"batches_are_read_one_at_a_time"},
        forms=(
            # on a list it also weighs wrongly
            (
                (ADD, "        total_loss += loss.item() / len(batches)\n"),
                (MEAN, "    return total_loss, num_correct / num_samples\n"),
            ),
            (
                (ADD, "        total_loss += loss.item()\n"),
                (
                    MEAN,
                    "    return total_loss / len(batches), num_correct / num_samples\n",
                ),
            ),
            (
                (START, START + "    num_batches = len(batches)\n"),
                (ADD, "        total_loss += loss.item()\n"),
                (
                    MEAN,
                    "    return total_loss / num_batches, num_correct / num_samples\n",
                ),
            ),
            # what is weighed already, divided by batches
            (
                (
                    MEAN,
                    "    return total_loss / len(batches), num_correct / num_samples\n",
                ),
            ),
            # the accuracy, or both
            (
                (
                    HITS,
                    "        hits = (logits.argmax(1) == targets).double()\n"
                    "        num_correct += hits.mean().item()\n",
                ),
                (
                    MEAN,
                    "    return total_loss / num_samples, num_correct / len(batches)\n",
                ),
            ),
            (
                (ADD, "        total_loss += loss.item()\n"),
                (
                    HITS,
                    "        hits = (logits.argmax(1) == targets).double()\n"
                    "        num_correct += hits.mean().item()\n",
                ),
                (
                    MEAN,
                    "    return total_loss / len(batches), num_correct / len(batches)\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="divides-by-dataset-length",
        says="You divide by len(batches.dataset): a generator has no data set, and a "
        "sampler uses a part of it. Look at what the loop can count itself.",
        edits=(
            (
                MEAN,
                "    num_samples = len(batches.dataset)\n" + MEAN,
            ),
        ),
        caught_by={"returns_loss_and_accuracy"},
        source="pytorch/examples#1396",
        forms=(
            # asked at once
            (
                (START, START + "    size = len(batches.dataset)\n"),
                (MEAN, MEAN.replace("num_samples", "size")),
            ),
        ),
    ),
    Mistake(
        id="materialises-batches",
        says="You collect all batches before the first forward: a large or endless "
        "stream fills the memory. Look at what is read before the model is called.",
        edits=((LOOP, "    batches = list(batches)\n" + LOOP),),
        caught_by={"batches_are_read_one_at_a_time"},
        forms=(
            ((LOOP, LOOP.replace("batches", "[*batches]")),),
            ((LOOP, LOOP.replace("batches", "sorted(batches, key=lambda b: 0)")),),
        ),
    ),
    Mistake(
        id="one-big-batch",
        says="You concatenate all batches and forward them at once: they need not fit "
        "into memory together. Look at how many rows the model gets.",
        edits=(
            (
                LOOP + GUARD + MOVE,
                "    pairs = [(x, y) for x, y in batches if len(y)]\n"
                "    if pairs:\n"
                "        features = torch.cat([x for x, _ in pairs]).to(device)\n"
                "        targets = torch.cat([y for _, y in pairs]).to(device)\n",
            ),
        ),
        caught_by={
            "calls_the_model_once_a_batch",
            "batches_are_read_one_at_a_time",
        },
    ),
    Mistake(
        id="reads-ahead",
        says="You take the next batch before the present one is forwarded. Look at when "
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
        id="second-pass-for-accuracy",
        says="You go through the batches once for the loss and once for the accuracy: a "
        "generator is empty the second time. Look at how often you iterate.",
        edits=(
            (HITS, ""),
            (
                END,
                LOOP + GUARD + MOVE + HITS.replace("logits.", "model(features).") + END,
            ),
        ),
        caught_by={
            "batches_are_gone_through_once",
            "calls_the_model_once_a_batch",
        },
        forms=(
            # with a count of its own
            (
                (HITS, ""),
                (
                    MEAN,
                    "    again = 0\n"
                    + LOOP
                    + GUARD
                    + MOVE
                    + HITS.replace("logits.", "model(features).")
                    + "        again += len(targets)\n"
                    + "    return total_loss / num_samples, num_correct / again\n",
                ),
            ),
        ),
    ),
    Mistake(
        id="counts-in-a-first-pass",
        says="You go through the batches once to count: a generator is empty when you "
        "come to evaluate. Look at how often you iterate.",
        edits=(
            (
                START,
                START.replace("0.0, 0, 0", "0.0, 0, sum(len(y) for _, y in batches)"),
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
        forms=(
            # moved for the loss alone
            (
                (MOVE, "        features = features.to(device)\n"),
                (LOSS, LOSS.replace("targets)", "targets.to(device))")),
            ),
        ),
    ),
    Mistake(
        id="features-not-moved",
        says="You move the targets and not the features: on a GPU the first layer fails. "
        "Look at what goes into the model.",
        edits=((MOVE, "        targets = targets.to(device)\n"),),
        caught_by={"moves_batches_to_the_device"},
        forms=(
            ((MOVE, "        features.to(device), targets.to(device)\n"),),
            ((MOVE, ""),),
        ),
    ),
    Mistake(
        id="device-must-be-a-string",
        says="You treat the device as a string: it may be a torch.device. Look at what "
        "you ask of it.",
        edits=((EVAL, EVAL + '    assert device.startswith(("cpu", "cuda"))\n'),),
        caught_by={"moves_batches_to_the_device"},
    ),
    Mistake(
        id="changes-inputs",
        says="You change the inputs in place: they are the caller's. Look at methods "
        "that end in an underscore.",
        edits=((MOVE, MOVE + "        features.sub_(features.mean())\n"),),
        caught_by={"inputs_stay_as_they_came"},
        forms=(((COUNT, COUNT + "        targets.zero_()\n"),),),
    ),
    Mistake(
        id="casts-features",
        says="You cast or reshape the features: a float64 or half model then fails or "
        "loses digits. Look at what reaches the model.",
        edits=((MOVE, MOVE + "        features = features.float().double()\n"),),
        caught_by={"inputs_stay_as_they_came"},
        forms=(
            ((MOVE, MOVE + "        features = features.flatten(1).float()\n"),),
            ((FORWARD, "        logits = model(features.float())\n"),),
        ),
    ),
    Mistake(
        id="evaluates-in-half-precision",
        says="You evaluate in half precision: the logits lose most of their digits. Look "
        "at what is called inside the loop.",
        edits=(
            ("import torch\n", "import copy\n\nimport torch\n"),
            (EVAL, EVAL + "    half = copy.deepcopy(model).bfloat16()\n"),
            (FORWARD, "        logits = half(features.bfloat16()).double()\n"),
        ),
        caught_by={"loss_is_mean_cross_entropy", "inputs_stay_as_they_came"},
    ),
    Mistake(
        id="reseeds",
        says="You seed the global random state so that dropout repeats itself: that is "
        "what eval mode is for, and the caller's seed is undone. Look at what is not "
        "yours to set.",
        edits=((START, "    torch.manual_seed(0)\n" + START),),
        caught_by={"global_state_stays"},
    ),
    Mistake(
        id="leaves-a-setting-changed",
        says="You switch a global setting of torch and leave it so: everything after you "
        "runs differently. Look at what outlives the call.",
        edits=((START, "    torch.autograd.set_detect_anomaly(True)\n" + START),),
        caught_by={"global_state_stays"},
        forms=(
            ((START, "    torch.use_deterministic_algorithms(True)\n" + START),),
            ((START, "    torch.set_default_dtype(torch.float64)\n" + START),),
        ),
    ),
    # Right, however unusual.
    Mistake(
        id="inference-mode",
        says="inference_mode records no gradient either.",
        edits=((NO_GRAD, "@torch.inference_mode()\n"),),
        forms=(
            ((NO_GRAD, "@torch.no_grad\n"),),
            (
                (NO_GRAD, ""),
                (BODY, "    with torch.inference_mode():\n" + indented(BODY)),
            ),
            (
                (NO_GRAD, ""),
                (BODY, "    with torch.set_grad_enabled(False):\n" + indented(BODY)),
            ),
            # for the forward alone
            (
                (NO_GRAD, ""),
                (FORWARD, "        with torch.inference_mode():\n    " + FORWARD),
            ),
        ),
    ),
    Mistake(
        id="grad-mode-put-back-by-hand",
        says="What was found is put back, whatever happens.",
        edits=(
            (NO_GRAD, ""),
            (EVAL, EVAL + SWITCH_OFF),
            (
                BODY,
                "    try:\n"
                + indented(BODY)
                + "    finally:\n        torch.set_grad_enabled(was)\n",
            ),
        ),
    ),
    Mistake(
        id="train-false",
        says="train(False) is eval().",
        edits=((EVAL, "    model.train(mode=False)\n"),),
        forms=(
            (
                (
                    EVAL,
                    "    for module in model.modules():\n        module.training = False\n",
                ),
            ),
            ((EVAL, "    model.to(device).eval()\n"),),
        ),
    ),
    Mistake(
        id="evaluates-a-copy-and-sets-both",
        says="A copy may be evaluated, when the model itself is left in eval mode.",
        edits=(
            ("import torch\n", "import copy\n\nimport torch\n"),
            (EVAL, "    model = copy.deepcopy(model.eval())\n"),
        ),
    ),
    Mistake(
        id="other-words-for-both-numbers",
        says="A summed loss, nll_loss, the loss written out; max, topk, count_nonzero.",
        edits=(
            (
                LOSS,
                "        loss = F.cross_entropy(logits, targets, reduction='sum')\n",
            ),
            (ADD, "        total_loss += float(loss)\n"),
        ),
        forms=(
            (
                (LOSS, "        loss = F.nll_loss(logits.log_softmax(-1), targets)\n"),
                (
                    HITS,
                    "        num_correct += int(logits.max(1)[1].eq(targets).sum())\n",
                ),
            ),
            (
                (
                    LOSS,
                    "        picked = logits[range(len(targets)), targets]\n"
                    "        loss = (logits.logsumexp(1) - picked).mean()\n",
                ),
                (
                    HITS,
                    "        best = logits.topk(1).indices.squeeze(-1)\n"
                    "        num_correct += torch.count_nonzero(best == targets).item()\n",
                ),
            ),
            # softmax changes no order
            ((HITS, HITS.replace("argmax(dim=1)", "softmax(-1).argmax(-1)")),),
        ),
    ),
    Mistake(
        id="device-totals",
        says="Totals on the device, in float32, read once at the end.",
        edits=(
            (
                START,
                "    total_loss = torch.zeros((), device=device)\n"
                "    num_correct, num_samples = torch.zeros_like(total_loss).long(), 0\n",
            ),
            (ADD, "        total_loss += loss.float() * targets.numel()\n"),
            (HITS, HITS.replace(".item()", "")),
            (
                MEAN,
                "    return (total_loss / num_samples).item(), "
                "(num_correct / num_samples).tolist()\n",
            ),
        ),
    ),
    Mistake(
        id="running-means",
        says="Both means brought up to date batch by batch.",
        edits=(
            (START, "    loss_so_far, share_so_far, num_samples = 0.0, 0.0, 0\n"),
            (
                ADD + HITS + COUNT,
                "        share = (logits.argmax(1) == targets).double().mean().item()\n"
                "        num_samples += targets.shape[0]\n"
                "        part = targets.shape[0] / num_samples\n"
                "        loss_so_far += (loss.item() - loss_so_far) * part\n"
                "        share_so_far += (share - share_so_far) * part\n",
            ),
            (MEAN, "    return loss_so_far, share_so_far\n"),
        ),
    ),
    Mistake(
        id="peeks-at-the-first-batch",
        says="The first batch may be taken by itself, as long as it is forwarded next.",
        edits=(
            ("import torch\n", "import itertools\n\nimport torch\n"),
            (
                LOOP,
                "    stream = iter(batches)\n    first = next(stream, None)\n"
                "    if first is None:\n"
                '        raise ValueError("no batch")\n'
                "    for features, targets in itertools.chain([first], stream):\n",
            ),
        ),
    ),
    Mistake(
        id="functional-call",
        says="torch.func over detached parameters, with gradients off.",
        edits=(
            (
                EVAL,
                EVAL
                + "    state = {n: p.detach() for n, p in model.named_parameters()}\n"
                + "    state.update(model.named_buffers())\n",
            ),
            (
                FORWARD,
                "        logits = torch.func.functional_call(model, state, (features,))\n",
            ),
        ),
    ),
    Mistake(
        id="errors-with-more-words",
        says="An error may be raised anew, as long as it says where it came from.",
        edits=(
            (
                BODY,
                "    try:\n"
                + indented(BODY)
                + "    except ValueError:\n        raise\n"
                + "    except Exception as error:\n"
                + "        raise RuntimeError(f'after {num_samples} samples') from error\n",
            ),
        ),
    ),
    Mistake(
        id="named-tuple",
        says="A named tuple is a tuple, a subclass of ValueError a ValueError.",
        edits=(
            (
                "from collections.abc import Iterable\n",
                "from collections.abc import Iterable\nfrom typing import NamedTuple\n",
            ),
            (
                NO_GRAD,
                "class Result(NamedTuple):\n    loss: float\n    accuracy: float\n\n\n"
                "class NoSamples(ValueError):\n    pass\n\n\n" + NO_GRAD,
            ),
            ("raise ValueError(", "raise NoSamples("),
            (
                MEAN,
                "    return Result(total_loss / num_samples, num_correct / num_samples)\n",
            ),
        ),
    ),
    Mistake(
        id="seeds-and-puts-back",
        says="Seeding is fine where the random state is put back.",
        edits=(
            (
                BODY,
                "    with torch.random.fork_rng(devices=[]):\n"
                "        torch.manual_seed(0)\n" + indented(BODY),
            ),
        ),
    ),
    Mistake(
        id="one-loss-at-the-end",
        says="All logits kept (without a graph they are small), one loss at the end.",
        rewrite="""
import torch
import torch.nn.functional as F


def evaluate(model, batches, device="cpu"):
    all_logits, all_targets = [], []
    with torch.inference_mode():
        model.eval()
        for x, y in batches:
            if y.numel() == 0:
                continue
            all_logits.append(model(x.to(device)).cpu())
            all_targets.append(y.cpu())
        if not all_logits:
            raise ValueError("nothing to evaluate")
        logits, targets = torch.cat(all_logits), torch.cat(all_targets)
        loss = F.cross_entropy(logits, targets).item()
        return loss, (logits.argmax(-1) == targets).float().mean().item()
""",
    ),
    Mistake(
        id="class-with-a-context-manager",
        says="A meter, a context manager and an iterator: everything else is different.",
        rewrite="""
import contextlib
from dataclasses import dataclass

import torch


@dataclass
class Meter:
    loss: float = 0.0
    correct: int = 0
    n: int = 0

    def update(self, logits, y):
        criterion = torch.nn.CrossEntropyLoss(reduction="none")
        self.loss += criterion(logits, y).sum().item()
        self.correct += sum(p == t for p, t in zip(logits.argmax(1).tolist(), y.tolist()))
        self.n += y.size(0)

    def result(self):
        if not self.n:
            raise ValueError("no samples")
        return self.loss / self.n, self.correct / self.n


@contextlib.contextmanager
def evaluating(model):
    was = torch.is_grad_enabled()
    model.eval()
    torch.set_grad_enabled(False)
    try:
        yield model
    finally:
        torch.set_grad_enabled(was)


class Evaluator:
    def __init__(self, model, device):
        self.model, self.device, self.meter = model, torch.device(device), Meter()

    def run(self, batches):
        stream = iter(batches)
        with contextlib.ExitStack() as stack:
            net = stack.enter_context(evaluating(self.model))
            while True:
                try:
                    x, y, *_ = next(stream)
                except StopIteration:
                    break
                if not len(y):
                    continue
                x = x.to(self.device, non_blocking=True)
                self.meter.update(net.forward(x), y.to(device=self.device))
        return self.meter.result()


def evaluate(model, batches, device="cpu"):
    return Evaluator(model, device).run(batches)
""",
    ),
    Mistake(
        id="fold-over-a-generator",
        says="A generator of per-batch sums, folded: no loop of its own.",
        rewrite="""
from functools import reduce

import torch
from torch.nn.functional import cross_entropy, one_hot


@torch.no_grad()
def _sums(model, batches, device):
    for x, y in batches:
        if len(y):
            x, y = x.to(device), y.to(device)
            logits = model(x)
            best = one_hot(logits.argmax(1), logits.shape[1])
            hit = best[torch.arange(len(y)), y].sum()
            loss = cross_entropy(logits, y, reduction="sum")
            yield torch.stack([loss.double(), hit.double(), loss.new_tensor(len(y))])


def evaluate(model, batches, device="cpu"):
    model.eval()
    total = reduce(torch.add, _sums(model, batches, device), torch.zeros(3).double())
    loss, hits, n = total.tolist()
    if n == 0:
        raise ValueError("no samples")
    return loss / n, hits / n
""",
    ),
    Mistake(
        id="numpy-by-hand",
        says="The loss by hand in NumPy: np.float64 is a float.",
        rewrite="""
import numpy as np
import torch


def evaluate(model, batches, device="cpu"):
    model.eval()
    losses, hits = [], []
    for features, targets in batches:
        labels = targets.to(device).cpu().numpy()
        if labels.size == 0:
            continue
        with torch.no_grad():
            scores = model(features.to(device)).cpu().numpy()
        shifted = scores - scores.max(axis=1, keepdims=True)
        log_sum = np.log(np.exp(shifted).sum(axis=1))
        losses.extend(log_sum - shifted[np.arange(len(labels)), labels])
        hits.extend(scores.argmax(axis=1) == labels)
    if len(hits) == 0:
        raise ValueError("there was no sample")
    return np.mean(losses), np.mean(hits)
""",
    ),
    Mistake(
        id="step-by-step",
        says="One thing a line, and every name spelled out.",
        rewrite="""
import torch
import torch.nn as nn


def evaluate(model, batches, device="cpu"):
    # first: evaluation mode
    model = model.eval()
    criterion = nn.CrossEntropyLoss()
    sum_of_losses = 0
    number_of_right_answers = 0
    number_of_samples = 0

    for batch in batches:
        inputs = batch[0]
        labels = batch[1]
        batch_size = labels.size()[0]
        if batch_size > 0:
            inputs = inputs.to(device)
            labels = labels.to(device)
            with torch.no_grad():
                outputs = model(inputs)
                loss = criterion(outputs, labels)
            biggest_values, predictions = torch.max(outputs, 1)
            for i in range(batch_size):
                if predictions[i].item() == labels[i].item():
                    number_of_right_answers = number_of_right_answers + 1
            sum_of_losses = sum_of_losses + loss.item() * batch_size
            number_of_samples = number_of_samples + batch_size

    if number_of_samples == 0:
        raise ValueError("There is no data!")

    average_loss = sum_of_losses / number_of_samples
    accuracy = number_of_right_answers / number_of_samples
    return (average_loss, accuracy)
""",
    ),
)
