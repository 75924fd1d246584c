"""Corpora: summaries merge exactly, a stopped run goes on, and limits come from cells."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

import poison
from clips import person
from command_line import result_of, run, wait_for
from oracles import EXHAUSTIVE
from synovia import LimitModel, load_clip, load_limits, quat, save_clip
from synovia.corpus import (
    Cells,
    Corpus,
    SummaryOptions,
    Task,
    executors,
    fit_corpus,
    load_summary,
    save_summary,
    summarize,
)
from synovia.corpus.executors import KILLED
from synovia.corpus.summary import PAIR_CELLS, merge_cells, numbered, take_of
from synovia.learn import FitOptions, flips, learn_from_takes

PEOPLE = ("ann", "bob", "cat", "dan")
PAIR = ("LeftForeArm", "LeftArm")


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    """Three clips each of four people with bones of their own."""
    folder = tmp_path_factory.mktemp("captures")
    for k, name in enumerate(PEOPLE):
        for part in range(3):
            clip = person(f"{name}_{part}", 3 * k + part, tall=1.0 + 0.1 * k, size=0.4 + 0.1 * part)
            save_clip(clip, folder / f"{name}_{part}.bvh")
    return folder


@pytest.fixture(scope="module")
def made(captures, tmp_path_factory):
    """The corpus of them, made in one process."""
    folder = tmp_path_factory.mktemp("made") / "corpus"
    run("corpus", "add", captures, "-o", folder, "--jobs", 1)
    return folder


def summaries(corpus):
    """The number, the performer and the summary of each entry."""
    for number, entry in enumerate(corpus.entries):
        yield number, entry.performer, load_summary(corpus.summary_file(entry.mark))


def merge(every):
    """Merged cells by joint and performer."""
    merged = merge_cells(
        ((joint, performer), numbered(cells, number))
        for number, performer, summary in every
        for (joint,), cells in summary.cells.items()
    )
    people = {}
    for (joint, performer), cells in merged.items():
        people.setdefault(joint, {})[performer] = cells
    return people


def contents(corpus):
    """All bytes of a corpus, by file; when files were changed is not compared.

    An empty file that a killed writer had just begun stays hidden for a minute, and does not count.
    """
    found = {}
    for path in sorted(corpus.rglob("[!.]*")):
        if path.is_file():
            found[path.relative_to(corpus).as_posix()] = path.read_bytes()
    return found


def tree(cells):
    return {
        (joint, who): [column.tobytes() for column in vars(each).values()]
        for joint, people in cells.items()
        for who, each in people.items()
    }


def test_merging_gives_the_same_bytes_for_any_order_and_split(made):
    corpus = Corpus.open(made)
    every = list(summaries(corpus))
    whole = merge(every)
    rng = random.Random(3)
    for _ in range(10):
        rng.shuffle(every)
        assert tree(merge(every)) == tree(whole)
        parts = [[numbered(each.cells[("LeftArm",)], k)] for k, _, each in every]
        while len(parts) > 1:  # a random tree of merges
            one, other = parts.pop(rng.randrange(len(parts))), parts.pop(rng.randrange(len(parts)))
            parts.append([Cells.concatenate(one + other)])
        expected = Cells.concatenate(list(whole["LeftArm"].values()))
        for name, column in vars(parts[0][0]).items():
            np.testing.assert_array_equal(column, getattr(expected, name))


def test_cells_count_every_frame_once_and_are_stood_for_by_their_first(captures):
    clip = load_clip(captures / "ann_0.bvh")
    summary = summarize(clip)
    flips_of = {info.joints[0]: info.flips for info in summary.head.cells}
    for (name,), cells in summary.cells.items():
        rotations = clip.pose.rotations[:, clip.skeleton.index(name)]
        assert cells.counts.sum() + flips_of[name] == clip.frames
        np.testing.assert_array_equal(rotations[cells.frames], cells.rotations)
        keys = np.floor(quat.log(rotations) / 0.02).astype(int)
        first = {}
        for frame, key in enumerate(map(tuple, keys)):
            first.setdefault(key, frame)
        if flips_of[name] == 0:
            assert sorted(first.values()) == sorted(cells.frames.tolist())
    assert ("Hips",) not in summary.cells


def test_a_summary_there_and_back(captures, tmp_path):
    summary = summarize(load_clip(captures / "bob_1.bvh"), SummaryOptions(pairs=dict([PAIR])))
    save_summary(summary, tmp_path / "a")
    again = load_summary(tmp_path / "a")
    save_summary(again, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    np.testing.assert_array_equal(again.cells[PAIR].rotations, summary.cells[PAIR].rotations)
    assert list(load_summary(tmp_path / "a", [("Chest",)]).cells) == [("Chest",)]
    content = (tmp_path / "a").read_bytes()
    size = b'"LeftArm"], "size": '
    broken_ones = [b"", content[:-1], content[:40], b"x" + content, content.replace(b"1", b"2", 1)]
    for broken in (*broken_ones, content.replace(size, size + b"-")):
        (tmp_path / "c").write_bytes(broken)
        with pytest.raises(ValueError, match="c: not a summary that can be read"):
            load_summary(tmp_path / "c")


def test_limits_of_a_corpus_keep_up_and_unit(tmp_path):
    clip = person("ann", 1, tall=1.0, size=0.4)
    metres = replace(clip, skeleton=replace(clip.skeleton, up="y", unit=1.0))
    save_clip(metres, tmp_path / "ann.glb")
    run("corpus", "add", tmp_path / "ann.glb", "-o", tmp_path / "corpus", "--jobs", 1)
    skeleton = fit_corpus(Corpus.open(tmp_path / "corpus"), FitOptions.of("box", None)).skeleton
    assert (skeleton.up, skeleton.unit) == ("y", 1.0)


def test_cells_of_pairs_hold_both_joints(captures):
    options = SummaryOptions(pairs=dict([PAIR, ("Nobody", "LeftArm"), ("LeftArm", "Hips")]))
    for path in sorted(captures.glob("*.bvh")):
        clip = load_clip(path)
        summary = summarize(clip, options)
        assert [key for key in summary.cells if len(key) > 1] == [PAIR]
        cells = summary.cells[PAIR]
        both = np.concatenate(
            [clip.pose.rotations[:, clip.skeleton.index(name)] for name in PAIR[::-1]], axis=1
        )
        np.testing.assert_array_equal(both[cells.frames], cells.rotations)
        # Every frame of neither joint's flips is in one cell, and the first stands for it.
        kept = np.ones(len(both), dtype=bool)
        for k in (0, 4):
            kept &= ~flips(both[:, k : k + 4], clip.frame_time)
        vectors = np.hstack([quat.log(both[:, :4]), quat.log(both[:, 4:])])
        first, counts = {}, {}
        for frame in np.flatnonzero(kept).tolist():
            key = tuple(np.floor(vectors[frame] / (PAIR_CELLS * 0.02)).astype(int))
            first.setdefault(key, frame)
            counts[key] = counts.get(key, 0) + 1
        assert dict(zip(map(tuple, cells.keys), cells.frames, strict=True)) == first
        assert dict(zip(map(tuple, cells.keys), cells.counts, strict=True)) == counts


def test_several_workers_give_the_same_bytes(captures, made, tmp_path):
    run("corpus", "add", captures, "-o", tmp_path / "corpus", "--jobs", 3)
    assert contents(tmp_path / "corpus") == contents(made)


def test_a_run_that_is_killed_goes_on_and_redoes_nothing(captures, made, tmp_path):
    folder = tmp_path / "corpus"
    words = ["corpus", "add", str(captures), "-o", str(folder), "--jobs", "2"]
    for wanted in (1, 4):
        command = [sys.executable, "-m", "synovia", *words]
        running = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
        wait_for(lambda: len(list(folder.glob("clips/[!.]*"))) >= wanted)  # noqa: B023
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    before = {path: path.stat().st_mtime_ns for path in folder.glob("summaries/[!.]*")}
    assert len(before) >= 1
    said = run(*words)
    assert f"{len(list(folder.glob('clips/[!.]*')))} in" in said
    for path, modified in before.items():
        assert path.stat().st_mtime_ns == modified
    assert contents(folder) == contents(made)


def test_what_changed_alone_is_read_again(captures, tmp_path):
    mine, folder = tmp_path / "mine", tmp_path / "corpus"
    shutil.copytree(captures, mine)
    run("corpus", "add", mine, "-o", folder, "--jobs", 1)
    save_clip(person("ann_0", 99), mine / "ann_0.bvh")
    (mine / "bob_0.bvh").unlink()
    said = run("corpus", "add", mine, "-o", folder, "--jobs", 1)
    assert "added 1 clip (120 frames)" in said
    assert "10 were there" in said


def test_a_directory_that_changes_meanwhile(captures, tmp_path, monkeypatch):
    mine, folder = tmp_path / "mine", tmp_path / "corpus"
    shutil.copytree(captures, mine)

    def load_and_meddle(place, **options):
        clip = load_clip(place, **options)
        if "ann_0" in place:  # the others are listed, and not read yet
            (mine / "bob_0.bvh").unlink()
            save_clip(person("cat_0", 98), mine / "cat_0.bvh")
        elif "dan_0" in place:
            save_clip(person("dan_0", 99), mine / "dan_0.bvh")
        return clip

    words = ("corpus", "add", mine, "-o", folder, "--jobs", 1)
    monkeypatch.setattr("synovia.corpus.store.load_clip", load_and_meddle)
    done = result_of(*words, code=1)
    monkeypatch.undo()
    assert "added 10 clips" in done.output
    assert "bob_0.bvh: No such file or directory" in done.output
    assert "dan_0.bvh: it was changed while it was read: add it again" in done.output
    assert "added 1 clip (120 frames)" in run(*words)
    run("corpus", "add", mine, "-o", tmp_path / "fresh", "--jobs", 1)
    assert contents(folder) == contents(tmp_path / "fresh")


def tiny_clips(captures, folder, count):
    """Write clips of three frames, by twenty people."""
    bones, motion = (captures / "ann_0.bvh").read_text().split("MOTION")
    channels = len(motion.splitlines()[3].split())
    rng = np.random.default_rng(8)
    for k in range(count):
        path = folder / f"{k % 20}" / f"p{k % 20}_{k}.bvh"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = (" ".join(f"{x:.3f}" for x in row) for row in rng.normal(0.0, 9.0, (3, channels)))
        path.write_text("\n".join([f"{bones}MOTION\nFrames: 3\nFrame Time: 0.01", *rows, ""]))


def test_a_damaged_summary_is_told_and_made_again(captures, made, tmp_path):
    folder = tmp_path / "corpus"
    shutil.copytree(made, folder)
    entry = Corpus.open(folder).entries[3]
    file = Corpus.open(folder).summary_file(entry.mark)
    file_before = file.read_bytes()
    file.write_bytes(file_before[:100])
    wrong = result_of("corpus", "fit", folder, "-o", tmp_path / "a.limits.json", code=2).output
    assert "not a summary that can be read" in wrong
    assert "Delete it, and `corpus add` makes it again" in wrong
    file.unlink()
    run("corpus", "add", captures, "-o", folder, "--jobs", 1)
    assert contents(folder)[f"summaries/{entry.mark}.npz"] == file_before


def test_a_clip_that_cannot_be_read_is_named_and_the_others_are_kept(captures, tmp_path):
    mine = tmp_path / "mine"
    shutil.copytree(captures, mine)
    (mine / "bad.bvh").write_text("HIERARCHY\nnonsense\n")
    (mine / "worse.glb").write_text("nonsense")  # which may hold several clips
    done = result_of("corpus", "add", mine, "-o", tmp_path / "corpus", "--jobs", 2, code=1)
    assert "bad.bvh:2: expected ROOT or MOTION" in done.output
    assert "worse.glb:1: expected JSON" in done.output
    assert "added 12 clips" in done.output


@contextmanager
def small_disk(folder, kilobytes):
    """A file system of so many kilobytes, in memory."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a full disk takes one that is mounted, which is not allowed here: {error}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_full_disk_is_told_and_the_run_goes_on_where_there_is_room(
    captures, made, tmp_path, jobs
):
    needed = sum(len(content) for content in contents(made).values()) // 1024
    with small_disk(tmp_path / "corpus", needed // 2) as disk:
        words = ("corpus", "add", captures, "-o", disk, "--jobs", jobs)
        said = result_of(*words, code=2).stderr
        assert "No space left on device" in said
        assert "make room, and run the same command again" in said
        assert not list(disk.rglob("*.tmp"))
        before = contents(disk)
        assert sum(name.startswith("clips/") for name in before) >= 1
        assert before.items() <= contents(made).items()
        subprocess.run(["mount", "-o", "remount,size=16m", str(disk)], check=True)
        run(*words)
        assert contents(disk) == contents(made)


def tasks_of(captures, extra=()):
    paths = sorted(captures.glob("*.bvh"))
    return [
        *(Task(str(path), "", path.stem, path.stem[:3]) for path in paths),
        *(Task(str(paths[0]), "", name, "x") for name in extra),
    ]


def test_a_clip_that_kills_its_worker_is_named_and_the_others_are_kept(captures, tmp_path):
    corpus = Corpus.make(tmp_path / "corpus", SummaryOptions())
    tasks = tasks_of(captures)[:5]
    tasks.insert(2, replace(tasks[0], name="poison", clip=""))
    folder = str(corpus.folder)
    outcomes = list(executors.run(folder, tasks, poison.work, jobs=2))
    failed = [outcome for outcome in outcomes if outcome.error]
    assert [outcome.task.name for outcome in failed] == ["poison"]
    assert failed[0].error.startswith(KILLED)
    assert len(outcomes) == 6


def test_dask_gives_the_same_bytes(captures, made, tmp_path):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with distributed.LocalCluster(2, threads_per_worker=1, host="127.0.0.1") as cluster:
        words = ("--scheduler", cluster.scheduler_address)
        done = result_of("corpus", "add", captures, "-o", tmp_path / "corpus", *words)
        assert "dashboard: http://127.0.0.1" in done.stderr
        fit(tmp_path / "corpus", tmp_path / "dask", *words)
    assert contents(tmp_path / "corpus") == contents(made)
    fit(made, tmp_path / "here", "--jobs", 1)
    assert contents(tmp_path / "dask") == contents(tmp_path / "here")


def fit(corpus, into, *words):
    """Fit a corpus; return what was said."""
    into.mkdir()
    limits = into / "a.limits.json"
    fitted = result_of("corpus", "fit", corpus, "-o", limits, "--margin", 0, "--trim", 0, *words)
    said = fitted.output.replace(str(into), "").split("\n")
    return [line for line in said if "dashboard" not in line]


def test_any_number_of_processes_fits_the_same_and_warns_of_the_same(captures, tmp_path):
    shutil.copytree(captures, tmp_path / "mine")
    save_clip(person("eve_0", tall=1.5, size=3.0), tmp_path / "mine" / "eve_0.bvh")
    run("corpus", "add", tmp_path / "mine", "-o", tmp_path / "corpus", "--jobs", 1)
    said = [fit(tmp_path / "corpus", tmp_path / str(jobs), "--jobs", jobs) for jobs in (1, 2)]
    assert said[0] == said[1]
    assert any("LeftArm: the region contains" in line for line in said[0])
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


@pytest.mark.exhaustive
def test_a_scheduler_that_dies_is_told_and_the_run_goes_on(captures, tmp_path):
    if not EXHAUSTIVE:
        pytest.skip("schedulers of Dask are killed with SYNOVIA_EXHAUSTIVE=1")
    pytest.importorskip("distributed", reason="Dask is not installed")
    tiny, folder, before = tmp_path / "tiny", tmp_path / "corpus", {}
    tiny_clips(captures, tiny, 300)
    for wanted in (1, 100, 300):
        with dask_cluster(tmp_path) as (scheduler, address):
            words = ["corpus", "add", str(tiny), "-o", str(folder), "--scheduler", address]
            command = [sys.executable, "-m", "synovia", *words]
            patience = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s"}
            adding = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=patience)
            wait_for(lambda wanted=wanted: len(list(folder.glob("clips/[!.]*"))) >= wanted)
            if wanted < 300:
                scheduler.kill()
            said = adding.communicate(timeout=120)[1]
        done = {path: path.stat().st_mtime_ns for path in folder.glob("summaries/[!.]*")}
        assert before.items() <= done.items()  # nothing is done twice
        before = done
        assert "not added" not in said  # no clip is to blame
        assert (f"the scheduler {address} is gone" in said) == (wanted < 300)
        assert adding.returncode == (2 if wanted < 300 else 0), said
    run("corpus", "add", tiny, "-o", tmp_path / "fresh", "--jobs", 1)
    assert contents(folder) == contents(tmp_path / "fresh")


@contextmanager
def dask_cluster(folder):
    """A scheduler and a worker as processes of their own, and the address of the scheduler."""
    about = folder / "scheduler.json"
    about.unlink(missing_ok=True)
    place = ["--host", "127.0.0.1", "--no-dashboard"]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{role}", *place, *map(str, more)],
            stderr=subprocess.DEVNULL,
        )
        for role, more in (
            ("scheduler", ("--port", 0, "--scheduler-file", about)),
            ("worker", ("--scheduler-file", about, "--nthreads", 1, "--local-directory", folder)),
        )
    ]
    try:
        wait_for(lambda: about.exists() and about.read_text().endswith("}"))
        yield started[0], json.loads(about.read_text())["address"]
    finally:
        for each in started:
            each.terminate()
            each.wait(60)


def test_corpora_merge_and_summaries_are_enough(captures, made, tmp_path):
    for name, pattern in (("one", "[ab]*.bvh"), ("two", "[bcd]*.bvh")):
        run("corpus", "add", f"{captures}/{pattern}", "-o", tmp_path / name, "--jobs", 1)
    run("corpus", "merge", tmp_path / "two", tmp_path / "one", "-o", tmp_path / "both")
    assert contents(tmp_path / "both") == contents(made)


def test_corpora_of_labs_whose_clips_have_the_same_path_merge(tmp_path):
    shared = tmp_path / "shared"
    for number, lab in enumerate(("one", "two")):
        (tmp_path / lab / "captures").mkdir(parents=True)
        clip = person("ann_0", number)
        save_clip(clip, tmp_path / lab / "captures" / "ann_0.bvh")
        folder = tmp_path / lab / "corpus"
        run("corpus", "add", tmp_path / lab / "captures", "-o", folder, "--jobs", 1)
        shutil.copytree(folder, shared / lab)
    run("corpus", "merge", shared / "one", shared / "two", "-o", shared / "both")
    assert len(Corpus.open(shared / "both").entries) == 2


def test_a_corpus_holds_no_absolute_path_and_moves_with_its_clips(captures, tmp_path):
    home = tmp_path / "home"
    shutil.copytree(captures, home / "captures")
    words = ("corpus", "add", home / "captures", "-o", home / "corpus", "--jobs", 1)
    run(*words)
    for path, content in contents(home / "corpus").items():
        assert str(tmp_path).encode() not in content, path
    assert "12 were there" in run(*words)
    home.rename(tmp_path / "away")
    away = tmp_path / "away"
    assert "12 were there" in run("corpus", "add", away / "captures", "-o", away / "corpus")


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("frames", "x", "frames: expected a whole number, got 'x'"),
        ("frames", -1, "frames must be at least 0, got -1"),
        ("mark", "../../secret", "mark must be 40 hexadecimal digits, got '../../secret'"),
        ("performer", None, "performer: expected text, got None"),
    ],
)
def test_an_entry_with_a_wrong_field_is_named(made, tmp_path, key, value, rule):
    shutil.copytree(made, tmp_path / "corpus")
    file = sorted((tmp_path / "corpus" / "clips").iterdir())[0]
    file.write_text(json.dumps({**json.loads(file.read_text()), key: value}))
    words = ("corpus", "fit", tmp_path / "corpus", "-o", tmp_path / "a.limits.json")
    assert f"{file}: not an entry that can be read: {rule}" in result_of(*words, code=2).output


@pytest.mark.parametrize("key", ["frames", "frame_time", "parents", "size"])
def test_a_summary_with_a_huge_number_is_refused(captures, tmp_path, key):
    save_summary(summarize(load_clip(captures / "ann_0.bvh")), tmp_path / "a")
    with np.load(tmp_path / "a") as archive:
        arrays = dict(archive)
    header = json.loads(arrays["header"].tobytes())
    fields = {"parents": header["stored_skeleton"], "size": header["cells"][0]}.get(key, header)
    fields[key] = [10**300] * 99 if key == "parents" else 1e999
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with open(tmp_path / "a", "wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ValueError, match="a: not a summary that can be read"):
        load_summary(tmp_path / "a", ())


def test_the_same_clip_under_two_names_counts_once(captures, made, tmp_path):
    shutil.copytree(captures, tmp_path / "mine")
    shutil.copy(captures / "ann_0.bvh", tmp_path / "mine" / "zoe_9.bvh")
    run("corpus", "add", tmp_path / "mine", "-o", tmp_path / "corpus", "--jobs", 1)
    ours, theirs = (fit_corpus(Corpus.open(f), FitOptions()) for f in (tmp_path / "corpus", made))
    assert len(Corpus.open(tmp_path / "corpus").entries) == 13
    for name, limit in ours.limits.items():
        np.testing.assert_array_equal(limit.packed, theirs.limits[name].packed)


@pytest.mark.parametrize(
    "options", [{}, {"shape": "box", "along": "chart"}, {"reject": 0.01}, {"trim": 0.0}]
)
def test_limits_from_cells_are_those_from_frames_to_within_a_cell(captures, made, options):
    clips = [load_clip(path) for path in sorted(captures.glob("*.bvh"))]
    with_options = {"reference": "rest", **options}
    model = LimitModel.fit(clips, **with_options)
    shape = with_options.pop("shape", "kdop")
    found = fit_corpus(Corpus.open(made), FitOptions.of(shape, None, **with_options))
    assert list(found.limits) == list(model.limits)
    diagonal = 0.02 * np.sqrt(3.0)
    rng = np.random.default_rng(2)
    for name, limit in model.limits.items():
        other = found.limits[name]
        for one, two in ((limit, other), (other, limit)):
            # What one accepts, the other accepts but for a cell.
            assert two.distance(one.sample(300, rng)).max() < 1.5 * diagonal, name
    assert found.provenance["options"] == model.provenance["options"]
    assert (found.skeleton.up, found.skeleton.unit) == (model.skeleton.up, model.skeleton.unit)
    rows = model.provenance["joints"]
    for name, row in found.provenance["joints"].items():
        assert row["frames"] == rows[name]["frames"]
        assert row["kind"] == rows[name]["kind"]


def test_a_corpus_fit_is_the_fit_of_its_cells(made):
    corpus = Corpus.open(made)
    every = list(summaries(corpus))
    takes = {
        joint: [take_of(cells, who) for who, cells in people.items()]
        for joint, people in merge(every).items()
    }
    options = FitOptions.of("kdop", None, reject=0.02)
    skeleton = every[0][2].head.skeleton
    expected = learn_from_takes(takes, skeleton, options, []).limits
    for name, limit in fit_corpus(corpus, options).limits.items():
        np.testing.assert_array_equal(limit.packed, expected[name].packed)


def test_fields_of_people_come_from_cells_too(captures, made, tmp_path):
    words = ("-s", "people", "-w", "resolution=16", "-j", "LeftArm")
    run("corpus", "fit", made, "-o", tmp_path / "cells.limits.json", *words, "--jobs", 1)
    run("fit", captures, "-o", tmp_path / "frames.limits.json", *words)
    paths = [tmp_path / f"{name}.limits.json" for name in ("cells", "frames")]
    volumes = [load_limits(path).limits["LeftArm"].volume() for path in paths]
    assert volumes[0] == pytest.approx(volumes[1], rel=0.15)


def test_a_manifest_says_which_clips_and_who_performs(captures, tmp_path):
    rows = ["path,performer,note"]
    rows += [f"{path.name},{path.stem[0]},x" for path in sorted(captures.glob("*_1.bvh"))]
    shutil.copytree(captures, tmp_path / "mine")
    manifest = tmp_path / "mine" / "clips.csv"
    manifest.write_text("\n".join(rows))
    run("corpus", "add", manifest, "-o", tmp_path / "corpus", "--jobs", 1)
    entries = Corpus.open(tmp_path / "corpus").entries
    assert sorted(entry.performer for entry in entries) == ["a", "b", "c", "d"]
    run("fit", manifest, "-o", tmp_path / "a.limits.json")
    clips = load_limits(tmp_path / "a.limits.json").provenance["clips"]
    assert [clip["performer"] for clip in clips] == ["a", "b", "c", "d"]
    manifest.write_text("path\ngone.bvh\n")
    words = ("corpus", "add", manifest, "-o", tmp_path / "corpus")
    assert "clips.csv:2: no such file: 'gone.bvh'" in result_of(*words, code=2).output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["fit", "nowhere", "-o", "a.limits.json"],
            "no corpus here; `synovia corpus add` makes one",
        ),
        (["fit", "CORPUS", "-o", "a.json"], "--output must end in .limits.json"),
        (["add", "CAPTURES", "-o", "CORPUS", "--relative-to", "LeftArm=Hips"], "have the options"),
        (["fit", "CORPUS", "-o", "a.limits.json", "-j", "Hips"], "nothing of roots, got Hips"),
        (
            ["fit", "CORPUS", "-o", "a.limits.json", "--depends", "LeftForeArm:LeftArm"],
            "corpus add CLIPS -o OTHER --pairs LeftForeArm:LeftArm",
        ),
        (["fit", "CORPUS", "-o", "a.limits.json", "--depends", "auto"], "-o OTHER --pairs auto"),
        (["add", "CAPTURES", "-o", "CORPUS", "--pairs", "auto"], "need another corpus"),
        (["add", "CAPTURES", "-o", "CORPUS", "--pairs", "Arm"], "--pairs takes JOINT:DRIVER"),
        (["fot", "CORPUS"], "No such command 'fot'"),
    ],
)
def test_what_makes_no_sense_is_said(captures, made, words, said):
    places = {"CORPUS": str(made), "CAPTURES": str(captures)}
    words = [places.get(word, word) for word in words]
    assert said in result_of("corpus", *words, code=2).output


def test_joints_are_measured_from_ancestors(captures, tmp_path):
    words = ("corpus", "add", captures, "-o", tmp_path / "corpus", "--jobs", 1)
    run(*words, "--relative-to", "LeftForeArm=Chest")
    run("corpus", "fit", tmp_path / "corpus", "-o", tmp_path / "a.limits.json", "--jobs", 1)
    limit = load_limits(tmp_path / "a.limits.json").limits["LeftForeArm"]
    assert limit.relative_to == "Chest"
    clip = load_clip(captures / "ann_1.bvh")
    assert LimitModel.check(load_limits(tmp_path / "a.limits.json"), clip) is not None
