"""Joints as functions: components, wired into networks, which make a figure.

One file a component; COMPONENTS is the one registry. A new one is a file and a line here.
"""

from __future__ import annotations

from .block import Kind
from .compensation import Compensation
from .component import ArrayComponent, Component
from .control import Control, JointSet
from .curve import DEGREE, Curve
from .dependency import Dependency
from .figure import Figure
from .joint_cone import JointCone
from .mapping import OneToMany
from .motion import clip_of, sweep
from .network import Network
from .parameters import FittedNetwork, fit_network
from .posed import Posed
from .product import Product
from .rotation import Rotation
from .scapula import Scapula
from .scapulothoracic import Scapulothoracic
from .translation import Translation

COMPONENTS: dict[str, type[Component]] = {
    kind.kind: kind
    for kind in (
        Product,
        OneToMany,
        Compensation,
        Rotation,
        Dependency,
        JointCone,
        Scapula,
        Translation,
        Scapulothoracic,
    )
}
"""Every component by its name in files."""

__all__ = [
    "COMPONENTS",
    "DEGREE",
    "ArrayComponent",
    "Compensation",
    "Component",
    "Control",
    "Curve",
    "Dependency",
    "Figure",
    "FittedNetwork",
    "JointCone",
    "JointSet",
    "Kind",
    "Network",
    "OneToMany",
    "Posed",
    "Product",
    "Rotation",
    "Scapula",
    "Scapulothoracic",
    "Translation",
    "clip_of",
    "fit_network",
    "sweep",
]
