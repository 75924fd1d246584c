"""Theta-phi tables: cells of directions with their twists (Huang & Prakash)."""

from .table import ThetaPhi

__all__ = ["ThetaPhi"]
