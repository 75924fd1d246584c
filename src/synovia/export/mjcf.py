"""MJCF (MuJoCo): three stacked hinges a joint, fixed tendons for half-spaces, and a ragdoll."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from xml.sax.saxutils import quoteattr

import numpy as np

from ..arrays import Floats
from .body import BodyCapsule, capsules, rest_positions, touching, upright
from .hinged import HingedBody, HingedJoint, export_body, loss_lines

TIMESTEP = 0.002  # seconds; a limit needs at least two of them to act
STIFFNESS = 'solreflimit="0.004 1" solimplimit="0.98 0.999 0.005"'  # the stiffest at this step
OVERSHOOT_DEG = 6.0  # degrees: largest violation of a dropped ragdoll
CLEARANCE = 0.02  # metres between the ground and the lowest capsule at the start


def mjcf_text(body: HingedBody, *, name: str = "synovia", mass: float = 75.0) -> str:
    """Return a model of the whole body: skeleton, limits, capsules of `mass` kilograms in all.

    Angles are radians, lengths metres, z is up. At 0 every joint is in the middle of its range; the
    keyframe `rest` is the skeleton at rest.
    """
    segments = capsules(body.skeleton, mass)
    order: list[str] = []
    roots = [joint for joint, parent in enumerate(body.skeleton.parents) if parent < 0]
    world = [line for root in roots for line in _body_lines(body, root, segments, order, 2)]
    lines = [
        f"<mujoco model={quoteattr(name)}>",
        *(f"  <!-- {comment_text(line)} -->" for line in comments(body)),
        '  <compiler angle="radian" autolimits="true"/>',
        f'  <option timestep="{TIMESTEP}" integrator="implicitfast"/>',
        "  <default>",
        f'    <joint armature="0.02" damping="1.5" {STIFFNESS}/>',
        f"    <tendon {STIFFNESS}/>",
        '    <geom type="capsule" rgba="0.8 0.6 0.4 1" friction="0.9"/>',
        "  </default>",
        "  <worldbody>",
        '    <light pos="0 0 3" dir="0 0 -1"/>',
        '    <geom name="floor" type="plane" size="5 5 0.1" rgba="0.4 0.4 0.4 1"/>',
        *world,
        "  </worldbody>",
        *_exclude_lines(body, segments),
        *tendon_lines(slants_of(body)),
        *_key_lines(body, roots, order, segments),
        "</mujoco>",
    ]
    return "\n".join(lines) + "\n"


def comments(body: HingedBody) -> list[str]:
    """Return the comments of a file: its conventions, and the losses."""
    return [
        "Joint limits by Synovia. Angles in radians; shares are of all rotations, of two "
        "joints together of all pairs that are legal one by one.",
        f"Limits are soft: up to {OVERSHOOT_DEG:g} degrees beyond them in a fall.",
        *loss_lines(body.losses, body.notes),
    ]


def comment_text(text: str) -> str:
    """Return text that is valid in an XML comment."""
    return text.replace("--", "- -").rstrip("-")


def numbers(values: Floats | Sequence[float]) -> str:
    """Return numbers as text with all digits, separated by spaces."""
    return " ".join(repr(float(value) + 0.0) for value in np.asarray(values).ravel())


def hinge_names(joint: HingedJoint) -> list[str]:
    """Return the names of a joint's three hinges, from the outermost."""
    return [f"{joint.name}_{k + 1}" for k in range(3)]


def _body_lines(
    body: HingedBody, joint: int, segments: list[BodyCapsule], order: list[str], depth: int
) -> list[str]:
    skeleton = body.skeleton
    name, indent, lines = skeleton.names[joint], "  " * depth, []
    if skeleton.parents[joint] < 0:
        position = [0.0, 0.0, _height(body, segments)]
        orientation = f' quat="{numbers(upright(skeleton))}"'
        inner = [f"{indent}  <freejoint name={quoteattr(f'{name}_free')}/>"]
    else:
        position, orientation, inner = skeleton.offsets[joint], "", []
    if name in body.joints:
        hinged = body.joints[name]
        orientation = f' quat="{numbers(hinged.reference)}"'
        for k, hinge in enumerate(hinge_names(hinged)):
            order.append(hinge)
            inner.append(
                f'{indent}  <joint name={quoteattr(hinge)} axis="{numbers(hinged.axes[k])}" '
                f'range="{numbers([hinged.low[k], hinged.high[k]])}"/>'
            )
    lines.append(f'{indent}<body name={quoteattr(name)} pos="{numbers(position)}"{orientation}>')
    lines += inner
    for capsule in segments:
        if capsule.joint == joint:
            lines.append(f"{indent}  {_geom(capsule)}")
    for child in skeleton.children(joint):
        lines += _body_lines(body, child, segments, order, depth + 1)
    return [*lines, f"{indent}</body>"]


def _geom(capsule: BodyCapsule) -> str:
    mass = f'mass="{capsule.mass:.6g}"'
    if not (capsule.end - capsule.start).any():
        return f'<geom type="sphere" size="{capsule.radius:.6g}" {mass}/>'
    ends = numbers([*capsule.start, *capsule.end])
    return f'<geom fromto="{ends}" size="{capsule.radius:.6g}" {mass}/>'


def _height(body: HingedBody, segments: list[BodyCapsule]) -> float:
    """Return the height of the root, in metres, that puts the rest pose just above the ground."""
    positions, up = rest_positions(body.skeleton), "xyz".index(body.skeleton.up)
    lowest = min(
        float(
            min((positions[capsule.joint] + end)[up] for end in (capsule.start, capsule.end))
            - capsule.radius
        )
        for capsule in segments
    )
    root = positions[int(np.flatnonzero(body.skeleton.parents < 0)[0]), up]
    return float(root - lowest) + CLEARANCE


def _exclude_lines(body: HingedBody, segments: list[BodyCapsule]) -> list[str]:
    names = body.skeleton.names
    pairs = touching(body.skeleton, segments)
    if not pairs:
        return []
    lines = [
        f"    <exclude body1={quoteattr(names[a])} body2={quoteattr(names[b])}/>" for a, b in pairs
    ]
    return ["  <contact>", *lines, "  </contact>"]


@dataclass(frozen=True, eq=False)
class Slant:
    """A sum of hinge angles, with the share of each by its name, and its range in radians."""

    name: str
    shares: dict[str, float]
    low: float
    high: float


def slants_of(body: HingedBody) -> Iterator[Slant]:
    """Yield the half-spaces of all joints, then those of pairs of joints."""
    for joint in body.joints.values():
        yield from name_slants(
            f"{joint.name}_slant",
            hinge_names(joint),
            joint.slants,
            joint.slant_low,
            joint.slant_high,
        )
    for pair in body.pairs:
        hinges = [
            hinge for name in (pair.driver, pair.name) for hinge in hinge_names(body.joints[name])
        ]
        title = f"{pair.driver}_{pair.name}_pair"
        yield from name_slants(title, hinges, pair.slants, pair.low, pair.high)


def name_slants(
    title: str, hinges: Sequence[str], slants: Floats, low: Floats, high: Floats
) -> Iterator[Slant]:
    """Yield half-spaces (k, n) of the angles of n hinges, with numbered names."""
    for k, (shares, least, most) in enumerate(zip(slants, low, high, strict=True)):
        parts = {hinge: float(share) for hinge, share in zip(hinges, shares, strict=True) if share}
        yield Slant(f"{title}{k + 1}", parts, float(least), float(most))


def tendon_lines(slants: Iterable[Slant]) -> list[str]:
    """Return fixed tendons, each a sum of angles with a range."""
    lines = []
    for slant in slants:
        parts = [
            f"<joint joint={quoteattr(hinge)} coef={quoteattr(numbers([share]))}/>"
            for hinge, share in slant.shares.items()
        ]
        start = f'<fixed name={quoteattr(slant.name)} limited="true"'
        ends = numbers([slant.low, slant.high])
        lines.append(f'    {start} range="{ends}">{"".join(parts)}</fixed>')
    return ["  <tendon>", *lines, "  </tendon>"] if lines else []


def _key_lines(
    body: HingedBody, roots: list[int], order: list[str], segments: list[BodyCapsule]
) -> list[str]:
    angles = {
        hinge: angle
        for joint in body.joints.values()
        for hinge, angle in zip(hinge_names(joint), joint.rest, strict=True)
    }
    if len(roots) != 1:
        return []
    root = [0.0, 0.0, _height(body, segments), *upright(body.skeleton)]
    rest = numbers([*root, *(angles[hinge] for hinge in order)])
    return ["  <keyframe>", f'    <key name="rest" qpos="{rest}"/>', "  </keyframe>"]


write_mjcf = partial(export_body, mjcf_text, True)
