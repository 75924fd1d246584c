"""The default human, clips made of its controls, and limits learned from them."""

from .clips import JOINTS, WILD_JOINTS, learn_limits, range_of_motion, share_accepted, wild

__all__ = ["JOINTS", "WILD_JOINTS", "learn_limits", "range_of_motion", "share_accepted", "wild"]
