"""The human, built of joint components from published numbers."""

from __future__ import annotations

from .human import human
from .part import Part, join
from .spine import cervical_of_source

__all__ = ["Part", "cervical_of_source", "human", "join"]
