"""What can be said about forearm and hand if the rig does not show where the palm faces."""

from __future__ import annotations

import numpy as np

from .. import quat
from ..arrays import TURN, Scalars
from ..rigs import Alignment
from ..rigs.human import SIDES
from ..skeleton import Clip

MAX_SPAN = np.radians(205.0)  # of pronation: 105 + 100, the ends of the forearm's range
SPAN_SHARE = 0.99  # of the frames that must fit; the rest may be flips of a capture


def total_pronation(alignment: Alignment, clip: Clip) -> dict[str, Scalars]:
    """Return the pronation (frames,) of forearm and hand together in radians, by side.

    With the elbow as Ry(−f) · Rz(o) · Rx(p) and the hand as Rx(h) · swing, on the left side, it is
    p + h, as an angle from −π to π.
    """
    seen = alignment.canonical_rotations(clip.pose)
    found: dict[str, Scalars] = {}
    for side in SIDES:
        if not {f"{side}LowerArm", f"{side}Hand"} <= seen.keys():
            continue
        elbow, hand = (seen[f"{side}{bone}"] for bone in ("LowerArm", "Hand"))
        # Mirroring keeps x, so that rotations about the bone have the same sign on both sides.
        mirror = np.array([1.0, 1.0, -1.0, -1.0]) if side == "right" else np.ones(4)
        forearm = quat.to_euler(elbow * mirror, "yzx")[:, 2]
        within_hand = 2.0 * np.arctan2(hand[:, 1], hand[:, 0])
        found[side] = (forearm + within_hand + np.pi) % TURN - np.pi
    return found


def smallest_arc(angles: Scalars, share: float = SPAN_SHARE) -> float:
    """Return the length in radians of the smallest arc with a share of the angles (n,)."""
    ordered = np.sort(np.mod(angles, TURN))
    count = max(int(np.ceil(share * len(ordered))), 1)
    twice = np.concatenate([ordered, ordered + TURN])
    return float((twice[count - 1 : count - 1 + len(ordered)] - ordered).min())


def describe_spans(alignment: Alignment, clip: Clip) -> list[str]:
    """Return a sentence for each forearm of unknown palm that rotates farther than any can.

    Where the palm faces is unknown, so only the span of pronation over the clip is judged.
    """
    sentences = []
    for side, angles in total_pronation(alignment, clip).items():
        unknown = alignment.palm.get(side) is None and f"{side}Hand" in alignment.trusted
        if unknown and (span := smallest_arc(angles)) > MAX_SPAN:
            sentences.append(
                f"{side} forearm: rotates through {np.degrees(span):.0f}° in this clip, at most "
                f"{np.degrees(MAX_SPAN):.0f}° are possible"
            )
    return sentences
