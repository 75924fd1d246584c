"""A human of one's own: parameters and controls are found together from captures."""

import csv
import os
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from synovia import human, load_figure, quat, save_clip
from synovia.anatomy import MarkerTracks, Observations, fit_figure, known_markers
from synovia.anatomy.bundle_adjustment import (
    START_SPREAD,
    BundleProblem,
    BundleSystem,
    adjust,
    human_parameters,
    solve_frames,
    start_estimate,
)
from synovia.anatomy.observations import choose_frames, middle_of, observe_markers, observe_rig
from synovia.cli import main
from synovia.components import clip_of
from synovia.io import load_marker_table, load_markers
from synovia.skeleton import Pose, forward

exhaustive = pytest.mark.skipif(
    not os.environ.get("SYNOVIA_EXHAUSTIVE"), reason="takes some 10 s: SYNOVIA_EXHAUSTIVE=1 runs it"
)
SIDES = ("Left", "Right")
POINTS = ("UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg", "Foot", "Toes")
TURNS = ("UpperArm", "LowerArm", "Forearm", "Hand", "UpperLeg", "LowerLeg", "Foot", "Toes")
NOTHING = Observations(
    *((), np.zeros((1, 0, 3)), (), np.zeros((0, 3)), np.zeros(0)),
    *(np.zeros((1, 0, 4)), (), np.zeros(0)),
)


def poses_of(figure, frames, rng, spread=0.15):
    """Places and turns in the world of a figure whose controls are about neutral."""
    low, neutral, high = figure.ranges
    shares = (neutral - low) / (high - low) + spread * rng.normal(size=(frames, len(low)))
    pose = figure.pose(low + (high - low) * np.clip(shares, 0.02, 0.98))
    where, how = forward(figure.skeleton, pose)
    turn = quat.exp(rng.normal(size=(frames, 1, 3)) * [0.2, 2.0, 0.2])
    return quat.rotate(turn, where) + rng.normal(size=(frames, 1, 3)), quat.mul(turn, how)


def person(seed):
    """A figure with parameters that are half a spread off."""
    rng, base = np.random.default_rng(seed), human()
    blank = BundleProblem(base, human_parameters(base), NOTHING)
    return blank.figure_at(blank.start + 0.5 * blank.spread * rng.normal(size=len(blank.start)))


def observed(figure, frames, seed=0, noise=1.0):
    """Joints and turns of a figure, 5 mm and 1 degree off."""
    rng = np.random.default_rng(seed)
    where, how = poses_of(figure, frames, rng)
    points = [*(side + name for side in SIDES for name in POINTS), "Pelvis", "T12", "C7", "Head"]
    turns = [*(side + name for side in SIDES for name in TURNS), "Pelvis", "Sternum", "Head"]
    at, of = ([figure.skeleton.index(name) for name in names] for names in (points, turns))
    shift, twist = (rng.normal(size=(frames, len(n), 3)) / np.sqrt(3.0) for n in (points, turns))
    return Observations(
        *(tuple(points), where[:, at] + 0.005 * noise * shift, tuple(points)),
        *(np.zeros((len(points), 3)), np.zeros(len(points))),
        quat.mul(how[:, of], quat.exp(np.radians(1.0) * noise * twist)),
        *(tuple(turns), np.zeros(len(turns))),
    )


@pytest.fixture(scope="module")
def fitted():
    true = person(1)
    return true, fit_figure(observed(true, 10), frames=10)


def test_known_parameters_are_found_again(fitted):
    true, found = fitted
    for each in human_parameters(human()):
        if each.is_center:
            (segment,) = each.segments
            joint = true.skeleton.index(segment)
            a, b = (figure.skeleton.offsets[joint] for figure in (found.figure, true))
            assert np.linalg.norm(a - b) < 0.01, each.name
            if segment.endswith(("LowerArm", "Hand", "LowerLeg", "Foot")):
                assert np.linalg.norm(a) == pytest.approx(np.linalg.norm(b), rel=0.01), each.name
                _, now, error = found.lengths[segment]
                assert now == pytest.approx(np.linalg.norm(a))
                assert 0.0 < error < 0.005
        elif each.name.endswith(".axis"):
            part = each.fields[0].partition(".")[0]
            a, b = (
                figure.joint_sets[each.joint_set].network.components[part].parameters()["axis"]
                for figure in (found.figure, true)
            )
            assert np.degrees(np.arccos(min(a @ b, 1.0))) < 3.0, each.name
    shifts = [(found.before[name].shift, found.after[name].shift) for name in found.after]
    before, after = np.nanmean(np.square(shifts), axis=0) ** 0.5
    assert before > 0.012
    assert after < 0.006


def test_the_figure_is_one_like_others(fitted, tmp_path):
    from synovia import save_figure

    _, found = fitted
    path = tmp_path / "me.xml"
    save_figure(found.figure, path)
    again = load_figure(path)
    np.testing.assert_allclose(again.skeleton.offsets, found.figure.skeleton.offsets)
    ankle = [again.skeleton.index(f"{side}Foot") for side in SIDES]
    heights = forward(again.skeleton, again.pose())[0][ankle, 1]
    assert heights.mean() == pytest.approx(0.068, abs=0.02)  # it stands on the ground
    result = CliRunner().invoke(main, ["figure", str(path), "--list"])
    assert result.exit_code == 0
    assert "44 controls" in result.output


def test_frames_are_eliminated_as_by_one_large_system():
    base = human()
    problem = BundleProblem(base, human_parameters(base), observed(person(3), 3))
    system = BundleSystem.of(problem, start_estimate(problem), np.array([1.0, 0.5, 1.0]))
    step, back = system.solve(0.01)
    frames, n = back.shape
    size = frames * n + len(step)
    whole, right = np.zeros((size, size)), np.zeros(size)
    for f in range(frames):
        rows = slice(f * n, f * n + n)
        sizes = np.diag(system.own[f])
        whole[rows, rows] = system.own[f] + 0.01 * np.diag(sizes + np.median(sizes))
        right[rows] = system.descent[f]
        whole[rows, frames * n :] = system.cross[f]
        whole[frames * n :, rows] = system.cross[f].T
    shared = system.shared + 0.01 * np.diag(np.diag(system.shared))
    whole[frames * n :, frames * n :], right[frames * n :] = shared, system.shared_descent
    solved = np.linalg.solve(whole, right)
    free = ~system.held
    np.testing.assert_allclose(step, np.where(system.fixed, 0.0, solved[frames * n :]), atol=1e-8)
    np.testing.assert_allclose(back[free], solved[: frames * n].reshape(frames, n)[free], atol=1e-8)


def test_controls_alone_bring_frames_to_what_they_were():
    base = human()
    problem = BundleProblem(base, [], observed(base, 6, noise=0.0))
    estimate = solve_frames(problem, start_estimate(problem), 60)
    left = problem.all_residuals(estimate)
    assert np.median(np.abs(left[:, : -len(base.controls)])) < 0.05
    assert (estimate.frames[:, :-6] >= 0.0).all()
    assert (estimate.frames[:, :-6] <= 1.0).all()


# Rigs.


@pytest.fixture(scope="module")
def rig_clip():
    """A clip of the human as a rig, its vertebrae among the joints."""
    body, rng = human(1.6), np.random.default_rng(0)
    low, neutral, high = body.ranges
    shares = (neutral - low) / (high - low) + 0.12 * rng.normal(size=(12, len(low)))
    return body, clip_of(body, body.pose(low + (high - low) * np.clip(shares, 0.0, 1.0)))


def test_a_rig_is_seen_in_the_frames_of_the_human(rig_clip):
    _, clip = rig_clip
    seen = observe_rig([clip])
    where, how = forward(clip.skeleton, clip.pose)
    for k, name in enumerate(seen.point_segments):
        if name.startswith(("Left", "Right")):
            off = seen.points[:, k] - where[:, clip.skeleton.index(name)]
            assert np.linalg.norm(off, axis=-1).max() < 0.025, name  # an elbow is also a forearm's
    for k, name in enumerate(seen.rotation_segments):
        if name.endswith(("UpperArm", "UpperLeg", "LowerLeg")):
            off = quat.angle_between(seen.rotations[:, k], how[:, clip.skeleton.index(name)])
            assert np.degrees(np.median(off)) < 12.0, name


def test_the_command_writes_a_figure(rig_clip, fitted, tmp_path, monkeypatch):
    _, clip = rig_clip
    _, found = fitted
    given = {}

    def stand_in(captures, **options):
        given.update(options, captures=captures)
        return found

    monkeypatch.setattr("synovia.anatomy.fit_figure", stand_in)
    save_clip(clip, tmp_path / "a.bvh")
    save_clip(clip, tmp_path / "b.bvh")
    path, clips = tmp_path / "me.xml", [str(tmp_path / f"{name}.bvh") for name in "ab"]
    run = CliRunner().invoke(main, ["figure", "human", "--fit", *clips, "-o", str(path)])
    assert run.exit_code == 0, run.output
    assert "what is left of" in run.output
    assert [each.frames for each in given["captures"]] == [12, 12]
    offsets = load_figure(path).skeleton.offsets
    np.testing.assert_allclose(offsets, found.figure.skeleton.offsets)


@exhaustive
def test_lengths_of_a_rig_are_found(rig_clip):
    _, clip = rig_clip
    figure, true = fit_figure([clip], frames=8).figure, human(1.6)
    for name in ("LeftLowerLeg", "RightFoot"):
        a, b = (each.skeleton.offsets[each.skeleton.index(name)] for each in (figure, true))
        assert np.linalg.norm(a) == pytest.approx(np.linalg.norm(b), rel=0.02), name


# Markers.


def marked(figure, frames, unit=1.0, seed=0):
    """Tracks of all known markers on a figure."""
    rng = np.random.default_rng(seed)
    where, how = poses_of(figure, frames, rng, 0.08)
    names, points = [], []
    scale = figure.skeleton.offsets[0, 1] / human().skeleton.offsets[0, 1]
    for name, (segment, place) in sorted(known_markers().items()):
        joint = figure.skeleton.index(segment)
        names.append(name)
        place = place * scale
        points.append(where[:, joint] + quat.rotate(how[:, joint], place))
    return MarkerTracks(tuple(names), np.stack(points, axis=1) / unit)


def write_markers(tracks, path):
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["frame", "marker", "x", "y", "z"])
        for frame, points in enumerate(tracks.points):
            for name, point in zip(tracks.names, points, strict=True):
                seen = np.isfinite(point).all()
                rows.writerow([frame, name, *(point.tolist() if seen else ["", "", ""])])


@pytest.mark.parametrize(("unit", "said"), [(1.0, "m"), (0.01, "cm"), (0.001, "mm")])
def test_markers_come_in_any_unit_with_gaps(tmp_path, unit, said):
    tracks = marked(human(), 10, unit)
    points = tracks.points.copy()
    points[3, 5] = np.nan
    write_markers(replace(tracks, points=points), tmp_path / "a.markers.csv")
    read = load_markers(tmp_path / "a.markers.csv")
    assert read.names == tracks.names
    np.testing.assert_allclose(read.points, points)
    seen = observe_markers([read], human().skeleton.names)
    assert seen.unit == said
    assert np.isnan(seen.points[3, 5]).all()
    np.testing.assert_allclose(np.delete(seen.points, 3, 0), unit * np.delete(points, 3, 0))


@exhaustive
def test_markers_tell_lengths():
    true = human(1.6)
    base = human(1.75)
    tracks = marked(true, 12)
    seen = observe_markers([tracks], base.skeleton.names)
    names = ("LeftLowerLeg", "LeftFoot", "LeftLowerArm", "LeftHand")
    found = fit_figure(
        replace(seen, position_spread=0.2 * seen.position_spread), frames=12, height=1.66
    )
    for name in names:
        a, b = (each.skeleton.offsets[each.skeleton.index(name)] for each in (found.figure, true))
        was = np.linalg.norm(human(1.66).skeleton.offsets[true.skeleton.index(name)])
        off, at_first = abs(np.linalg.norm(a) - np.linalg.norm(b)), was - np.linalg.norm(b)
        assert off < max(0.75 * at_first, 0.006), name


def three_markers_a_segment(figure, frames, seed):
    """Tracks with 5 mm of noise of markers at random places on segments, and the segments."""
    rng = np.random.default_rng(seed)
    where, how = poses_of(figure, frames, rng, 0.2)
    segments = [side + name for side in SIDES for name in POINTS if name != "Toes"]
    table, points = {}, []
    for segment in ["Pelvis", "Sternum", "Head", *segments]:
        joint = figure.skeleton.index(segment)
        for number in range(3):
            along = (number + 0.5) / 1.5 * middle_of(segment)
            place = along + rng.normal(size=3) * [0.05, 0.02, 0.05]
            table[f"{segment}{number}"] = segment, None
            shift = 0.005 * rng.normal(size=(frames, 3))
            points.append(where[:, joint] + quat.rotate(how[:, joint], place) + shift)
    return MarkerTracks(tuple(table), np.stack(points, axis=1)), table


@exhaustive
@pytest.mark.parametrize("seed", [20, 21])
def test_three_markers_a_segment_tell_lengths_wherever_they_are(seed):
    true = person(seed)
    tracks, table = three_markers_a_segment(true, 60, seed)
    found = fit_figure([tracks], frames=60, markers=table)
    off = []
    for name in ("LowerArm", "Hand", "LowerLeg", "Foot"):
        for side in SIDES:
            _, length, _ = found.lengths[side + name]
            offset = true.skeleton.offsets[true.skeleton.index(side + name)]
            off.append(length / np.linalg.norm(offset) - 1.0)
    assert np.median(np.abs(off)) < 0.01
    assert np.max(np.abs(off)) < 0.03  # from the segment's joint they ended 0.3 to 0.9 off


def test_first_controls_are_near_the_true_ones_wherever_markers_are():
    """Held loosely about neutral, controls end 0.23 of their ranges off, many at a bound."""
    base = human()
    tracks, table = three_markers_a_segment(base, 12, 1)
    low, neutral, high = base.ranges
    spreads = 0.2 * np.random.default_rng(1).normal(size=(12, len(low)))
    true = np.clip((neutral - low) / (high - low) + spreads, 0.02, 0.98)
    seen = observe_markers([tracks], base.skeleton.names, table)
    problem = BundleProblem(base, [], seen, START_SPREAD)
    estimate, _ = adjust(problem, start_estimate(problem), lambda step: None)
    off = estimate.frames[:, : len(low)] - true
    assert np.sqrt(np.mean(np.square(off))) < 0.15


def test_markers_of_unknown_places_start_amid_their_segment():
    tracks, table = three_markers_a_segment(human(), 10, 0)
    seen = observe_markers([tracks], human().skeleton.names, table)
    thigh = seen.names.index("LeftUpperLeg0")
    knee = human().skeleton.offsets[human().skeleton.index("LeftLowerLeg")]
    assert 0.4 < np.linalg.norm(seen.positions[thigh]) / np.linalg.norm(knee) < 0.6


def test_a_table_names_markers_of_ones_own(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("marker,segment,x,y,z\nelbow,LeftUpperArm,0.04,-0.3,0\nblob,Head,,,\n")
    table = load_marker_table(path)
    assert table["blob"] == ("Head", None)
    np.testing.assert_allclose(table["elbow"][1], [0.04, -0.3, 0.0])


def test_chosen_frames_differ_whatever_the_place():
    rng = np.random.default_rng(0)
    shapes = rng.normal(size=(4, 6, 3))
    points = np.repeat(shapes, 10, axis=0)
    turn = quat.exp(rng.normal(size=(40, 1, 3)))
    points = quat.rotate(turn, points) + rng.normal(size=(40, 1, 3))
    assert sorted(choose_frames(points, 4) // 10) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected the columns frame,marker,x,y,z"),
        ("frame,marker,x,y\n", "expected the columns frame,marker,x,y,z"),
        ("frame,marker,x,y,z\n", "expected rows of markers, got none"),
        ("frame,marker,x,y,z\n1.5,LASI,0,0,0\n", ":2: expected the number of a frame, got '1.5'"),
        ("frame,marker,x,y,z\n1,LASI,0,0,q\n", ":2: expected a finite number, got 'q'"),
        ("frame,marker,x,y,z\n1,LASI,0,0,inf\n", ":2: expected a finite number"),
        ("frame,marker,x,y,z\n1,LASI,0,0,0\n1,LASI,0,0,0\n", ":3: marker LASI is twice in frame 1"),
    ],
)
def test_bad_tracks_are_named(tmp_path, text, words):
    (tmp_path / "a.markers.csv").write_text(text)
    with pytest.raises(ValueError, match=words):
        load_markers(tmp_path / "a.markers.csv")


def test_bad_captures_are_named(rig_clip, tmp_path):
    _, clip = rig_clip
    few = replace(clip, pose=Pose(clip.pose.rotations[:4], clip.pose.positions[:4]))
    with pytest.raises(ValueError, match="captures must have 8 frames at least"):
        fit_figure([few])
    tracks = marked(human(), 4)
    with pytest.raises(ValueError, match="no marker 'NOSE' is known"):
        fit_figure([replace(tracks, names=("NOSE", *tracks.names[1:]))])
    with pytest.raises(ValueError, match="captures must be clips, or tracks of markers"):
        fit_figure([clip, tracks])
    gone = tracks.points.copy()
    gone[:, 0] = np.nan
    with pytest.raises(ValueError, match="C7 never is"):
        fit_figure([replace(tracks, points=gone)])
    with pytest.raises(ValueError, match="the unit of length must be one of m, cm, mm"):
        fit_figure([replace(tracks, points=1e6 * tracks.points)])
    run = CliRunner().invoke(main, ["figure", "human", "--fit", "a.bvh", "-o", "me.bvh"])
    assert run.exit_code == 2
    assert "--fit writes a figure" in run.output
    run = CliRunner().invoke(main, ["figure", "human", "b.bvh", "-o", "me.xml"])
    assert run.exit_code == 2
    assert "are for --fit" in run.output
