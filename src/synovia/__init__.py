"""Synovia: every joint's true range of motion, learned from motion capture.

>>> model = LimitModel.fit([load_clip("range-of-motion.bvh")])   # doctest: +SKIP
>>> save_clip(model.project(load_clip("wild.bvh")), "clamped.bvh")   # doctest: +SKIP
"""

from .anatomy import human, human_limits, isb_angles
from .charts import CHARTS, DirectionTwist, EulerZYZ, RotationVector, SwingTwist
from .clip import Clip
from .components import COMPONENTS, Component, Control, Curve, Figure, JointSet, Network
from .density import Density, density, level_for
from .field_paths import field_from_paths
from .io import (
    load_clip,
    load_figure,
    load_limits,
    load_network,
    save_clip,
    save_figure,
    save_limits,
    save_network,
)
from .joint_kind import JointKind, joint_kind
from .limit import Limit, mirror_limit
from .model import LimitModel
from .paths import first_exit, project_path
from .people import People, within_for
from .report import Report
from .shapes import SHAPES, Box, DistanceField, Ellipsoid, KDop, Product, ReachCone, ThetaPhi, Union
from .skeleton import Pose, Skeleton, forward
from .softening import Beyond, Inside
from .view import View, view

__version__ = "0.1.0"

__all__ = [
    "CHARTS",
    "COMPONENTS",
    "SHAPES",
    "Beyond",
    "Box",
    "Clip",
    "Component",
    "Control",
    "Curve",
    "Density",
    "DirectionTwist",
    "DistanceField",
    "Ellipsoid",
    "EulerZYZ",
    "Figure",
    "Inside",
    "JointKind",
    "JointSet",
    "KDop",
    "Limit",
    "LimitModel",
    "Network",
    "People",
    "Pose",
    "Product",
    "ReachCone",
    "Report",
    "RotationVector",
    "Skeleton",
    "SwingTwist",
    "ThetaPhi",
    "Union",
    "View",
    "density",
    "field_from_paths",
    "first_exit",
    "forward",
    "human",
    "human_limits",
    "isb_angles",
    "joint_kind",
    "level_for",
    "load_clip",
    "load_figure",
    "load_limits",
    "load_network",
    "mirror_limit",
    "project_path",
    "save_clip",
    "save_figure",
    "save_limits",
    "save_network",
    "view",
    "within_for",
]
