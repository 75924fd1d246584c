"""Distance fields: regions of any form on a grid (Engell-Nørregård et al.)."""

from .field import DistanceField

__all__ = ["DistanceField"]
