"""Ids of limits and losses: custom operators of PyTorch take only tensors and numbers."""

from __future__ import annotations

from itertools import count
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import torch

_IDS: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
_OBJECTS: WeakValueDictionary[int, Any] = WeakValueDictionary()
_NEXT = count()


@torch.compiler.assume_constant_result
def id_of(known: Any) -> int:
    """Return the id of a limit or a loss, valid as long as that object lives."""
    number = _IDS.get(known)
    if number is None:
        number = _IDS[known] = next(_NEXT)
        _OBJECTS[number] = known
    return number


def object_of(number: int) -> Any:
    """Return the object with this id; RuntimeError if it was deleted."""
    known = _OBJECTS.get(number)
    if known is None:
        raise RuntimeError("the limit or loss that this was compiled for is gone: keep it alive")
    return known
