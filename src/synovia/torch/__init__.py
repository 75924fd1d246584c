"""Limits for training with PyTorch: distances, projections and a loss, with their gradients.

Needs the extra `torch`. See docs/guides/learning.md.
"""

from .loss import LimitLoss, human
from .operators import distance, project
from .rotations import FORMS, Form, multiply, quaternions, rotate

__all__ = [
    "FORMS",
    "Form",
    "LimitLoss",
    "distance",
    "human",
    "multiply",
    "project",
    "quaternions",
    "rotate",
]
