"""What is pulled, turned and posed at the page where there is a figure: its controls follow."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from .. import quat
from ..arrays import Floats, Quats
from ..components import (
    Component,
    Control,
    Figure,
    JointSet,
    MatrixProduct,
    Network,
    Rotation,
    Translation,
)
from ..ik import ControlSolution, Orient, Reach, solve_controls
from ..skeleton import forward
from .messages import Request, flag, numbers, row, vector, word, words
from .poses import outside_deg, pose_from, turn_alone
from .protocol.poses import Fitted, PoseAnswer, Posed, Pulled
from .session import Scene, Session

# A figure whose root is free: feet that are pinned can stand while the pelvis goes down.

ROOT_SET = "root"
ROOT_REACH = 2.0
"""How far the root may go, as a multiple of what the bones extend over at rest."""
AXIS_NAMES = ("x", "y", "z")
ROOT_TURNS = tuple(f"{ROOT_SET}.turn-{name}" for name in AXIS_NAMES)
ROUNDED = 1e-5
"""How well controls can be told from a pose in single precision, as the page has it."""


@lru_cache(maxsize=4)
def free_root(figure: Figure) -> Figure:
    """Return the figure with a last joint set, `root`, that moves and turns its root.

    It is the figure itself where it has several roots, or a joint set that moves one already, or
    one of that name.
    """
    skeleton = figure.skeleton
    roots = [name for name, up in zip(skeleton.names, skeleton.parents, strict=True) if up < 0]
    moved = roots[0] in figure.moved_segments or ROOT_SET in figure.joint_sets
    if len(roots) > 1 or moved:
        return figure
    where, _ = forward(skeleton, skeleton.rest_pose())
    far = ROOT_REACH * float(np.ptp(where, axis=0).max())
    parts: dict[str, Component] = {"shift": Translation()}
    wires, turns, controls = {}, [], {}
    for name in AXIS_NAMES:
        wires[f"shift.{name}"] = name
        controls[name] = Control(-far, far, 0.0, "length")
    for name, axis in zip(AXIS_NAMES, np.eye(3), strict=True):
        parts[f"turn-{name}"] = Rotation(axis)
        wires |= {f"turn-{name}.angle": f"turn-{name}", f"product.{name}": f"turn-{name}.matrix"}
        controls[f"turn-{name}"] = Control(-np.pi, np.pi, 0.0, "radians")
        turns.append(name)
    parts["product"] = MatrixProduct(("shift", *turns))
    wires["product.shift"] = "shift.matrix"
    network = Network(parts, wires, {roots[0]: "product.matrix"}, tuple(controls))
    sets = {**figure.joint_sets, ROOT_SET: JointSet(network, controls)}
    return Figure(skeleton, sets, figure.name)


def figure_of(scene: Scene) -> Figure:
    """Return the scene's figure, its root free; without one there are no controls."""
    if scene.figure is None:
        raise ValueError("there is no figure here, so there are no controls")
    return free_root(scene.figure)


# Which controls go first: those of the limb that is pulled, and the others where it ends.

OTHERS_STIFFNESS = 2.0
"""How much more than the limb the rest of the body stays where it was."""
PIN_WEIGHT = 30.0
BETTER = 0.9
"""A root is turned where that leaves at most this share of the error."""
BEND = 0.12
"""Of the way to the middle of their ranges: a straight limb bends so much to begin with."""


def controls_of(figure: Figure, joints: Collection[str]) -> list[str]:
    """Return the controls of all joint sets that move one of the joints."""
    return [
        f"{name}.{control}"
        for name, joint_set in figure.joint_sets.items()
        if any(joint in joint_set.network.outputs for joint in joints)
        for control in joint_set.controls
    ]


def bend_controls(figure: Figure, controls: Floats, which: Sequence[str]) -> Floats:
    """Return controls (C,), some of them a little nearer to the middle of their ranges."""
    low, _, high = figure.ranges
    places, bent = _places(figure, which), controls.copy()
    bent[places] += BEND * (0.5 * (low + high) - controls)[places]
    return bent


def pull(
    figure: Figure,
    goals: Sequence[Reach | Orient],
    home: Floats,
    last: Floats,
    limb: Sequence[str],
    others: Sequence[str],
    *,
    thorough: bool = False,
) -> ControlSolution:
    """Return controls that meet goals, near to `home` (C,): of a limb, and if need be of others.

    The search begins at `last` (C,), where the drag was, then where the limb is a little bent, at
    `home`, and with the limb at rest; if `thorough`, also elsewhere. Where the limb alone does not
    get there, the others help as little as they can, from where the limb ends. A root that may
    turn does so last of all, so that a body that crouches stays upright.
    """
    places = _places(figure, limb)

    def with_limb(controls: Floats, of: Floats) -> Floats:
        mixed = controls.copy()
        mixed[places] = of[places]
        return mixed

    held = with_limb(home, last)
    rest = with_limb(home, figure.ranges[1])
    found = None
    if limb:
        starts = [held, bend_controls(figure, held, limb), home, bend_controls(figure, rest, limb)]
        found = solve_controls(figure, home, goals, only=limb, starts=starts, restarts=thorough)
        if found.converged or not others:
            return found
    near = home if found is None else with_limb(home, found.controls)

    def solve_with(helpers: Sequence[str]) -> ControlSolution:
        return solve_controls(
            figure,
            near,
            goals,
            only=[*limb, *helpers],
            stiffness=dict.fromkeys(helpers, OTHERS_STIFFNESS),
            starts=[near, last, bend_controls(figure, rest, [*limb, *helpers])],
            restarts=thorough,
        )

    upright = [name for name in others if name not in ROOT_TURNS]
    first = solve_with(upright)
    if first.converged or len(upright) == len(others):
        return first
    turned = solve_with(others)
    return turned if turned.errors.max() < BETTER * first.errors.max() else first


def _places(figure: Figure, which: Collection[str]) -> list[int]:
    return [place for place, name in enumerate(figure.controls) if name in which]


# What the page asks for.


def pull_figure(session: Session, request: Request) -> Pulled:
    """Return the pose of the figure in which a joint, or a point on it, is at a target, or near it.

    `values` are the controls where the drag began, null where these are not known, and `last`
    where it was; `limb` are the joints that go first, and with `alone` no others follow. `pins`
    keep joints at places, `turns` as they are turned; then the root may move, too. If `thorough`,
    all is tried before the target is called out of reach.
    """
    scene = session.scene
    figure = figure_of(scene)
    joint = word(request, "joint")
    goal = Reach(joint, vector(request, "target"), vector(request, "point"))
    pins = pin_goals(request)
    started = time.perf_counter()
    home = _controls(scene, figure, request, "values")
    last = home if request.get("last") is None else _controls(scene, figure, request, "last")
    limb = controls_of(figure, words(request, "limb"))
    moved = pinned_joints(request)
    path = {joint, *moved} | _above(scene, [joint, *moved])
    others = [] if flag(request, "alone") else controls_of(figure, path)
    others = [
        name
        for name in others
        if name not in limb and (pins or not name.startswith(f"{ROOT_SET}."))
    ]
    thorough = flag(request, "thorough")
    found = pull(figure, [goal, *pins], home, last, limb, others, thorough=thorough)
    return _pulled(scene, found, path, started, rooted=not pins)


def turn_joint(session: Session, request: Request) -> Pulled | PoseAnswer:
    """Return the pose with a joint turned as the world sees it, within its limit if asked.

    Of a figure within its limits the controls turn it; otherwise the joint alone is turned.
    """
    scene = session.scene
    if scene.figure is not None and flag(request, "limits"):
        return turn_figure(scene, request)
    return turn_alone(scene, request)


def turn_figure(scene: Scene, request: Request) -> Pulled:
    """Return the pose of the figure in which a joint is turned as the world sees it, or nearly.

    The controls of the joint's own set alone change, so that its bones stay coupled.
    """
    figure = figure_of(scene)
    joint = word(request, "joint")
    goal = Orient(joint, quat.normalize(row(request, "rotation", 4)))
    started = time.perf_counter()
    home = _controls(scene, figure, request, "values")
    last = home if request.get("last") is None else _controls(scene, figure, request, "last")
    own = [name for name in controls_of(figure, [joint]) if not name.startswith(f"{ROOT_SET}.")]
    if not own:
        raise ValueError(f"no control turns {joint}")
    found = solve_controls(figure, home, [goal], only=own, starts=[last, home], restarts=False)
    return _pulled(scene, found, [joint], started)


def pose_figure(session: Session, request: Request) -> Posed:
    """Return the pose that controls of the figure give, and what became of them."""
    scene = session.scene
    pose = figure_of(scene).pose(numbers(request, "values"))
    return {
        "clamped": {name: float(off) for name, off in pose.clamped.items()},
        "gaps": {name: float(off) for name, off in pose.gaps.items()},
        "outsideDeg": outside_deg(scene, pose),
        "rotations": pose.rotations,
        "positions": pose.positions,
    }


def fit_figure(session: Session, request: Request) -> Fitted:
    """Return the controls whose pose is nearest to one, and by how many degrees it is off."""
    figure = figure_of(session.scene)
    found = figure.controls_for(pose_from(session.scene, request), tolerance=ROUNDED)
    return {
        "values": _by_name(figure, found.controls),
        "offDeg": float(np.degrees(found.angle)),
    }


def pin_goals(request: Request) -> list[Reach | Orient]:
    """Return goals that keep joints at places in the world, and some turned as they are."""
    pins, turns = request.get("pins", {}), request.get("turns", {})
    for name, each in (("pins", pins), ("turns", turns)):
        if not isinstance(each, dict):
            raise ValueError(f"{name} must be lists by the names of joints, got {each!r:.60}")
    places = [Reach(name, vector(pins, name), weight=PIN_WEIGHT) for name in pins]
    kept = [Orient(name, quat.normalize(_turn(turns, name)), weight=PIN_WEIGHT) for name in turns]
    return [*places, *kept]


def pinned_joints(request: Request) -> list[str]:
    """Return the names of the joints that are pinned."""
    return [*request.get("pins", {})]


def _turn(turns: Request, name: str) -> Quats:
    turn = row(turns, name, 4)
    if not np.linalg.norm(turn) > 1e-6:
        raise ValueError(f"the rotation of {name} must be longer than 0")
    return turn


def _controls(scene: Scene, figure: Figure, request: Request, name: str) -> Floats:
    """Return controls (C,) that a request gives by name, or those nearest to the pose it gives."""
    if request.get(name) is None:
        return figure.controls_for(pose_from(scene, request), tolerance=ROUNDED).controls
    return figure.pose(numbers(request, name)).controls


def _above(scene: Scene, joints: Sequence[str]) -> set[str]:
    skeleton = scene.clip.skeleton
    return {
        skeleton.names[above]
        for name in joints
        for above in skeleton.path_to_root(skeleton.index(name))
    }


def _by_name(figure: Figure, controls: Floats) -> dict[str, float]:
    return {name: float(each) for name, each in zip(figure.controls, controls, strict=True)}


def _pulled(
    scene: Scene,
    found: ControlSolution,
    path: Collection[str],
    started: float,
    rooted: bool = True,
) -> Pulled:
    """Return the answer with what was found; a root that stays makes some targets too far."""
    fixed = replace(found, figure=scene.figure) if scene.figure and rooted else found
    chain = controls_of(found.figure, path)
    at_end = {name: value for name, value in found.at_end().items() if name in chain}
    return {
        "ms": 1000.0 * (time.perf_counter() - started),
        "met": bool(found.converged),
        "left": float(found.errors[0]),
        "beyond": bool(fixed.beyond()),
        "held": found.blocking(),
        "atEnd": at_end,
        "values": _by_name(found.figure, found.controls),
        "outsideDeg": outside_deg(scene, found.pose),
        "rotations": found.pose.rotations,
        "positions": found.pose.positions,
    }
