"""Joints as functions: components, wired into networks, which make a figure.

After Shao & Ng-Thow-Hing (2003), called "the paper" in this package. A new component is one file
and one entry of COMPONENTS.
"""

from __future__ import annotations

from .bounded import JointCone, Scapula, Scapulothoracic
from .component import ArrayComponent, Component
from .figure import Control, Figure, FigurePose, JointSet, clip_of, sweep
from .fit import fit_network
from .network import Network
from .program import Kind
from .transforms import Compensation, MatrixProduct, Rotation, Translation
from .values import DEGREE, Curve, Dependency, OneToMany

COMPONENTS: dict[str, type[Component]] = {
    kind.kind: kind
    for kind in (
        MatrixProduct,
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
    "FigurePose",
    "JointCone",
    "JointSet",
    "Kind",
    "MatrixProduct",
    "Network",
    "OneToMany",
    "Rotation",
    "Scapula",
    "Scapulothoracic",
    "Translation",
    "clip_of",
    "fit_network",
    "sweep",
]
