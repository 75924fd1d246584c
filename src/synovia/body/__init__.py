"""Bodies: bones and a skin for the default human and for rigs that are recognised as human."""

from .asset import Mesh
from .body import Body, body_of

__all__ = ["Body", "Mesh", "body_of"]
