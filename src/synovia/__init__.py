"""Synovia: every joint's true range of motion, learned from motion capture.

>>> model = LimitModel.fit([load_clip("range-of-motion.bvh")])   # doctest: +SKIP
>>> save_clip(model.project(load_clip("wild.bvh")), "clamped.bvh")   # doctest: +SKIP
"""

from .anatomy import human, human_limits, isb_angles
from .charts import CHARTS, DirectionTwist, EulerZYZ, RotationVector, SwingTwist
from .components import COMPONENTS, Component, Control, Curve, Figure, JointSet, Network
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
from .learn import (
    Density,
    JointKind,
    People,
    density,
    field_from_paths,
    joint_kind,
    level_for,
    within_for,
)
from .limit import Limit, mirror_limit
from .limit.softening import Beyond, Inside
from .model import LimitModel, Report, first_exit, project_path
from .shapes import SHAPES, Box, DistanceField, Ellipsoid, KDop, Product, ReachCone, ThetaPhi, Union
from .skeleton import Clip, Pose, Skeleton, forward
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
