"""Numbers for limits: operators of PyTorch take tensors and numbers alone."""

from __future__ import annotations

from itertools import count
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import torch

_NUMBERS: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
_KNOWN: WeakValueDictionary[int, Any] = WeakValueDictionary()
_NEXT = count()


@torch.compiler.assume_constant_result
def number_of(known: Any) -> int:
    """Return the number by which operators know a limit or a loss, as long as that lives."""
    number = _NUMBERS.get(known)
    if number is None:
        number = _NUMBERS[known] = next(_NEXT)
        _KNOWN[number] = known
    return number


@torch.compiler.assume_constant_result
def known_as(number: int) -> Any:
    """Return what has a number; RuntimeError if it is gone."""
    known = _KNOWN.get(number)
    if known is None:
        raise RuntimeError("the limit or loss that this was compiled for is gone: keep it alive")
    return known
