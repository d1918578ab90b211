"""How checks compare and what they say: tolerances, closeness, and the hints.

A returned value may be anything at all, so nothing here trusts its methods: a float
subclass that claims to equal everything, a NaN or a string is compared like any other.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from checks.recorders import State

TOLERANCE = 1e-9  # of parameters and gradients, in float64, absolute and relative
VALUE_TOLERANCE = 1e-5  # of returned floats: a float32 sum on the device is right


def number(value: Any) -> float:
    """Read a returned value as a float; NaN where it is no single number.

    Lenient on purpose: that a `float` was asked is a check of its own.
    """
    if isinstance(value, float):
        return float.__float__(value)  # not float(): a subclass may override it
    if isinstance(value, Tensor) and value.numel() == 1:
        return float(value.detach().item())
    if isinstance(value, (int, np.number)):
        return float(value)
    return math.nan


def is_nan(value: Any) -> bool:
    """Whether what was returned is a number, and that number NaN."""
    is_number = isinstance(value, (float, Tensor, np.number))
    return is_number and math.isnan(number(value))


def is_close(value: Any, right: float, tolerance: float = VALUE_TOLERANCE) -> bool:
    """Whether `value` is a number within `tolerance` of `right`, relative."""
    scale = max(abs(right), 1e-3)
    return abs(number(value) - right) <= tolerance * scale  # False for NaN


def shown(value: Any) -> str:
    """Show a returned value in a message: short, and safe for any object."""
    if isinstance(value, Tensor):
        content = f"{number(value):.4f}" if value.numel() == 1 else "..."
        graph = ", with its graph" if value.requires_grad else ""
        return f"a tensor({content}){graph}"
    if isinstance(value, float):
        return f"{float.__float__(value):.4f}"
    text = object.__repr__(value) if _has_own_repr(value) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def shown_sizes(sizes: Sequence[int]) -> str:
    """Show batch sizes in a message; of a long stream, how it begins."""
    if len(sizes) <= 10:
        return str(list(sizes))
    return f"{str(list(sizes[:4]))[:-1]}, ...] ({len(sizes)} batches)"


def _has_own_repr(value: Any) -> bool:
    return type(value).__module__ not in ("builtins", "numpy", "torch")


def hint(value: Any, hints: Mapping[str, float | None]) -> str:
    """Say what a wrong value is: the first hint whose number it is close to.

    `hints` maps a sentence to the number that the slip behind it would give.
    """
    for sentence, candidate in hints.items():
        if candidate is not None and is_close(value, candidate, 1e-6):
            return f"\n{sentence}"
    return ""


def difference(
    got: Mapping[str, Tensor], right: Mapping[str, Tensor], tolerance: float = TOLERANCE
) -> str | None:
    """Describe the widest difference between two sets of tensors; None if none.

    For example: "net.weight[0, 2] is 0.3100, right is 0.1200".
    """
    worst, text = 0.0, None
    for name, expected in right.items():
        tensor = got.get(name)
        if tensor is None:
            return f"{name} has none, right is {largest(expected)}"
        if tensor.shape != expected.shape:
            return (
                f"{name} has shape {tuple(tensor.shape)}, not {tuple(expected.shape)}"
            )
        tensor, expected = tensor.double(), expected.double()
        gap = (tensor - expected).abs() / (1 + expected.abs())
        gap = torch.where(tensor.isnan() & ~expected.isnan(), torch.inf, gap)
        if gap.numel() and not gap.max() <= max(tolerance, worst):
            worst = float(gap.max())
            at = tuple(int(i) for i in np.unravel_index(int(gap.argmax()), gap.shape))
            place = f"{name}[{', '.join(map(str, at))}]" if at else name
            text = f"{place} is {tensor[at]:.4g}, right is {expected[at]:.4g}"
            if f"{tensor[at]:.4g}" == f"{expected[at]:.4g}":
                text = f"{place} is {tensor[at]:.10g}, right is {expected[at]:.10g}"
    return text


def largest(tensor: Tensor) -> str:
    """Show a tensor by its entry of the largest size."""
    flat = tensor.flatten()
    return f"{flat[flat.abs().argmax()]:.4g} at its largest" if len(flat) else "empty"


def same(got: Mapping[str, Tensor], right: Mapping[str, Tensor]) -> bool:
    """Whether two sets of tensors agree within the tolerance."""
    return difference(got, right) is None


def total(states: Sequence[State]) -> State:
    """Add up sets of tensors of the same names."""
    names = states[0]
    return {name: torch.stack([s[name] for s in states]).sum(0) for name in names}


def scaled(state: State, factor: float) -> State:
    """Multiply each tensor of a set."""
    return {name: tensor * factor for name, tensor in state.items()}


def error_of(call: Callable[[], Any]) -> BaseException | None:
    """Return the exception that `call` ends in, None if it returns.

    NotImplementedError comes through: it says that something is not written yet.
    """
    try:
        call()
    except NotImplementedError:
        raise  # not written yet, which is no way to be wrong
    except Exception as error:
        return error
    return None


def shown_error(error: BaseException | None) -> str:
    """Say how a call ended: "it returned", "it raised KeyError: ..."."""
    if error is None:
        return "it returned"
    text = str(error).strip().splitlines()
    return f"it raised {type(error).__name__}" + (f": {text[0][:120]}" if text else "")


def settings() -> dict[str, Any]:
    """Return torch's global settings that a solution has no business changing."""
    return {
        "grad mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "default dtype": torch.get_default_dtype(),
        "default device": str(torch.get_default_device()),
        "autocast": torch.is_autocast_enabled("cpu"),
        "autocast's dtype": torch.get_autocast_dtype("cpu"),
        "anomaly detection": torch.is_anomaly_enabled(),
        "number of threads": torch.get_num_threads(),
        "float32 matmul precision": torch.get_float32_matmul_precision(),
        "cudnn.benchmark": torch.backends.cudnn.benchmark,
        "cudnn.deterministic": torch.backends.cudnn.deterministic,
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
    }


def random_states() -> dict[str, Any]:
    """Return the global random states, comparable with ==."""
    numpy_state = np.random.get_state(legacy=False)
    return {
        "torch": torch.get_rng_state().tolist(),
        "random": random.getstate(),
        "numpy": str(numpy_state["state"]["key"].tolist())
        + str(numpy_state["state"]["pos"]),
    }


def seed_everything(seed: int) -> None:
    """Seed torch, random and NumPy."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


@contextlib.contextmanager
def restored_settings() -> Iterator[None]:
    """Put torch's global settings and random states back on exit, whatever happened."""
    threads = torch.get_num_threads()
    precision = torch.get_float32_matmul_precision()
    low = torch.get_autocast_dtype("cpu")
    cudnn = torch.backends.cudnn
    flags = cudnn.benchmark, cudnn.deterministic
    dtype = torch.get_default_dtype()
    grad, deterministic = (
        torch.is_grad_enabled(),
        torch.are_deterministic_algorithms_enabled(),
    )
    torch_state, random_state = torch.get_rng_state(), random.getstate()
    numpy_state = np.random.get_state()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(precision)
        cudnn.benchmark, cudnn.deterministic = flags
        torch.set_default_dtype(dtype)
        torch.set_default_device(None)
        torch.set_grad_enabled(grad)
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", low)
        torch.set_anomaly_enabled(False)
        torch.use_deterministic_algorithms(deterministic)
        torch.set_rng_state(torch_state)
        random.setstate(random_state)
        np.random.set_state(numpy_state)
