"""Draw the pictures of the documentation: python tools/docs/pictures.py [CLIPS].

They show data of the demo, except the range of the knee over the direction of the thigh. It needs
CLIPS, a folder of CMU's captures as BVH with a people.csv (clip, performer).
"""

import csv
import sys
from pathlib import Path

import numpy as np

from synovia import (
    Box,
    DirectionTwist,
    Limit,
    LimitModel,
    Pose,
    Skeleton,
    SwingTwist,
    ThetaPhi,
    forward,
    human,
    load_clip,
    quat,
)
from synovia.anatomy import isb_angles
from synovia.anatomy.part import load_tables
from synovia.anatomy.shoulder import shoulders
from synovia.cli.demo import BEST, save_overview
from synovia.demo import learn_limits, range_of_motion, wild
from synovia.draw import (
    PLATES,
    draw_dependence,
    draw_joint,
    draw_joints,
    draw_plate,
    samples_of,
    save_picture,
)
from synovia.draw.limit import draw_map
from synovia.draw.skeleton import VIEW, draw_skeleton
from synovia.draw.style import INK, LEGAL, LINE, MUTED, OUTSIDE, new_figure
from synovia.ik import arm
from synovia.population.envelope import possible_model

HERE = Path(__file__).parents[2] / "docs" / "img"


CLIPS_EACH = 4  # clips of each performer, for the coupled limit
METHODS = {
    "data": "kdop",
    "reach-cone": "reach-cone",
    "theta-phi": "theta-phi",
    "distance-field": "distance-field",
}
"""Shapes by the names of their pages."""


def main(clips: Path | None = None) -> None:
    """Write the pictures in docs/img."""
    if clips is not None:
        knee(clips, HERE / "coupled.png")
    for name, shape in METHODS.items():
        learned_shoulder(shape, HERE / f"method-{name}.png")
    rom, broken = range_of_motion(), wild()
    model = learn_limits(rom, *BEST)
    save_overview(model, rom, broken, model.project(broken), HERE / "overview.png")
    people(HERE / "human.png")
    save_picture(draw_joints(possible_model()), HERE / "possible.png")
    save_picture(draw_plate(shoulders(), PLATES["scapula"]), HERE / "shoulder.png")
    rhythm(HERE / "rhythm.png")
    arm_on_path(HERE / "arm.png")


def knee(clips: Path, path: Path) -> None:
    """Draw the range of the left knee of people over the direction of the thigh."""
    by_performer: dict[str, list[str]] = {}
    with open(clips / "people.csv", newline="") as file:
        for name, performer in sorted(list(csv.reader(file))[1:]):
            by_performer.setdefault(performer, []).append(name)
    chosen = {
        name: performer
        for performer, names in by_performer.items()
        for name in names[:: max(len(names) // CLIPS_EACH, 1)][:CLIPS_EACH]
    }
    model = LimitModel.fit(
        [load_clip(clips / f"{name}.bvh") for name in chosen],
        joints=["LeftUpLeg", "LeftLeg"],
        depends={"LeftLeg": "LeftUpLeg"},
        performers=chosen,
    )
    save_picture(draw_dependence(model, "LeftLeg"), path)


def learned_shoulder(shape: str, path: Path) -> None:
    """Draw a limit of the demo's right shoulder, as `synovia draw --joint` does."""
    joint = "RightUpperArm"
    model = LimitModel.fit(
        [range_of_motion()],
        shape,
        joints=[joint],
        relative_to={joint: "Sternum"},
        keep_samples=True,
    )
    save_picture(draw_joint(model.limits[joint], samples_of(model, joint), title=joint), path)


def arm_on_path(path: Path) -> None:
    """Draw an arm that follows a path, which leaves the shoulder's table in part."""
    names = ("Hips", "Chest", "Head", "Shoulder", "Elbow", "Wrist", "OtherShoulder", "OtherHand")
    parents = [-1, 0, 1, 1, 3, 4, 1, 6]
    offsets = [[0, 0.9, 0], [0, 0.4, 0], [0, 0.3, 0], [0.2, 0.05, 0], [0.3, 0, 0], [0.27, 0, 0]]
    offsets += [[-0.2, 0.05, 0], [-0.1, -0.55, 0]]
    body = Skeleton(names, parents, np.array(offsets, float))
    rows = np.radians([[-50.0, -70.0, 10.0], [0.0, -80.0, 20.0], [50.0, -50.0, 10.0]])
    table = ThetaPhi.from_rows(rows, -1.5, 1.5)
    shoulder = Limit(DirectionTwist(axis=np.array([1.0, 0.0, 0.0])), table)
    bend = Box([0.0, 0.0, 0.0], [0.0, 0.0, 2.5], np.eye(3))
    elbow = Limit(SwingTwist(axis=np.array([0.0, -1.0, 0.0])), bend)
    model = LimitModel({"Shoulder": shoulder, "Elbow": elbow}, body)
    t = np.linspace(0.0, 2.0 * np.pi, 160)
    targets = np.stack([0.55 + 0 * t, 1.35 + 0.42 * np.sin(t), 0.2 * np.cos(t)], axis=1)
    solution = arm(model, body, body.rest_pose(), "Shoulder", "Wrist", targets)
    positions, _ = forward(body, solution.pose)

    figure = new_figure(1000, 460)
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.25))
    for frame in (118, 8, 44):
        pose = Pose(solution.pose.rotations[frame], solution.pose.positions[frame])
        draw_skeleton(left, body, pose)
    wrists, wanted = quat.rotate(VIEW, positions[:, 5]), quat.rotate(VIEW, targets)
    left.plot(*wanted[:, :2].T, ":", color=INK, lw=1.4, zorder=900)
    left.scatter(*wrists[solution.converged, :2].T, s=6, color=LEGAL, zorder=901)
    left.scatter(*wrists[~solution.converged, :2].T, s=6, color=OUTSIDE, zorder=902)
    left.set_title("dotted: targets of the wrist; red: not met", color=MUTED, size=11)
    draw_map(right, table, (0.0, 180.0))
    x, y, z = table.frame @ shoulder.chart.points(solution.pose.rotations[:, 3])[:, :3].T
    theta, phi = np.degrees(np.arctan2(y, x)), np.degrees(np.arcsin(z))
    right.scatter(theta, phi, s=8, color=np.where(solution.converged, LEGAL, OUTSIDE).tolist())
    right.set(xlim=(-120, 120), ylim=(-90, 90))
    right.set_title("the upper arm in its table", color=MUTED, size=11)
    figure.tight_layout()
    save_picture(figure, path)


def rhythm(path: Path) -> None:
    """Draw the angles of clavicle and scapula over elevation, with published means at 120°."""
    body, means = shoulders(), load_tables("shoulder")["human"]["rhythm_means"]
    elevation = np.arange(0.0, 151.0, 2.0)
    posed = body.pose({"right_shoulder.abduction": elevation})
    titles = {
        "clavicle": ("retraction", "elevation", "backward rotation"),
        "scapula": ("retraction", "upward rotation", "posterior tilt"),
    }
    signs = np.array([-1.0, -1.0, 1.0])
    figure = new_figure(1000, 560)
    for row, (bone, names) in zip(figure.subplots(2, 3, sharex=True), titles.items(), strict=True):
        angles = signs * np.degrees(isb_angles(body.skeleton, posed, f"right_{bone}"))
        change = angles - angles[elevation == 30.0]
        for k, (axes, name) in enumerate(zip(row, names, strict=True)):
            axes.plot(elevation, change[:, k], color=LEGAL, lw=2)
            for x, marker, rows in zip((116, 120, 124), "os^", means[bone], strict=True):
                mean, deviation = rows[k]
                color = INK if deviation else MUTED
                axes.errorbar(
                    x, signs[k] * mean, deviation or 5.0, fmt=marker, ms=4, color=color, capsize=2
                )
            axes.axhline(0.0, color=LINE, lw=1, zorder=0)
            axes.set_title(f"{bone}: {name}", color=INK, size=11)
            axes.tick_params(labelsize=9, labelcolor=MUTED)
            axes.set(ylim=(-15, 45), xticks=(0, 30, 60, 90, 120, 150))
    figure.supxlabel("elevation of the arm, degrees", color=MUTED, size=10)
    figure.supylabel("change from 30°, degrees", color=MUTED, size=10)
    figure.tight_layout()
    save_picture(figure, path)


def people(path: Path) -> None:
    """Draw the default human, standing, bent to the side, and squatting."""
    from matplotlib.figure import Figure

    body = human()
    legs = {
        "hip.flexion": 95,
        "knee.flexion": 120,
        "ankle.dorsiflexion": 22,
        "shoulder.flexion": 70,
    }
    squat = {f"{side}_{name}": value for side in ("left", "right") for name, value in legs.items()}
    bent = {"lumbar.bend": 15, "thoracic.bend": 25, "cervical.bend": 20}
    bent |= {"left_shoulder.abduction": 70, "right_shoulder.abduction": 110}
    figure = Figure(figsize=(9.6, 5.4), dpi=150)
    poses = ({}, bent, {"lumbar.flexion": 25, "cervical.flexion": -20, **squat})
    for axes, controls in zip(figure.subplots(1, 3), poses, strict=True):
        axes.set(xlim=(-0.72, 0.72), ylim=(-0.06, 2.24))
        draw_skeleton(axes, body.skeleton, body.pose(controls))
    figure.tight_layout()
    save_picture(figure, path)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
