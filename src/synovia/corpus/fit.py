"""Limits from a corpus: the cells of each joint, then of each pair, are merged and fitted."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..learn import FitOptions, Progress, bone_axes, joints_to_fit, learn_from_takes
from ..learn.dependents import LearnedPair, VariableLimit, cut_chains, learn_pair, pairs_to_learn
from ..learn.fitting import LearnedLimits, thin_message
from ..learn.takes import compare_marks
from ..model import LimitModel, couple
from ..skeleton import Skeleton, match, names_in
from ..text import error_text
from .executors import run
from .store import ClipEntry, Corpus, TaskOutcome
from .summary import (
    Cells,
    Head,
    Key,
    frames_of,
    load_head,
    load_summary,
    merge_cells,
    numbered,
    take_of,
)

JointFit = tuple[LearnedLimits, list[Warning | str]]
"""The limit learned for a joint, and the warnings of the fit."""


@dataclass(eq=False)
class CellsTask:
    """A joint to fit, or a pair to learn: `joints` are the joint, and the driver of a pair.

    `parts` are the clips that have cells of it: number, performer, mark, and key in the clip.
    `size` is the number of these cells, and `flips` of frames that are capture flips and in none. A
    pair has the `variable` limit of its joint.
    """

    joints: Key
    parts: list[tuple[int, str, str, Key]] = field(default_factory=list)
    size: int = 0
    flips: int = 0
    variable: VariableLimit | None = None


def fit_corpus(
    corpus: Corpus,
    options: FitOptions,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    progress: Progress = iter,
) -> LimitModel:
    """Return limits from the summaries of a corpus, with the options of `LimitModel.fit`.

    Performers and ancestors are those of the corpus. The reference is the mean, or the rest pose.
    Joints are fitted one by one, in `jobs` processes or on the Dask cluster of `scheduler`, each
    with one joint at a time. The result does not depend on their number.
    """
    entries = list({entry.mark: entry for entry in reversed(corpus.entries)}.values())[::-1]
    if not entries:
        raise ValueError(f"{corpus.folder}: no clips to learn from")
    if options.blend is not None:
        raise ValueError("a corpus cannot be blended")
    options = replace(options, relative_to=dict(corpus.options.ancestors))
    heads = {entry.mark: load_head(corpus.summary_file(entry.mark)) for entry in entries}
    first = min(entries, key=lambda entry: (entry.name, entry.mark))
    skeleton = heads[first.mark].skeleton
    wanted = joints_to_fit(skeleton, options.joints, options.exclude)
    if roots := [name for name in wanted if skeleton.parents[skeleton.index(name)] < 0]:
        raise ValueError(f"a corpus knows nothing of roots, got {', '.join(roots)}")
    names = {
        mark: _names_of(wanted, skeleton, head.skeleton, options) for mark, head in heads.items()
    }
    if options.leaves_out({entry.performer for entry in entries}):
        entries = _merge_people(entries, [heads[entry.mark] for entry in entries])
    tasks = _collect_cells(entries, heads, names)
    drivers: dict[str, str] = {}
    if options.depends:
        drivers = _drivers(corpus, options.depends, skeleton, wanted, tasks, names)
    titles = [f"{name} with {driver}" for name, driver in drivers.items()]
    shown = iter(progress([*wanted, *titles]))
    next(shown, None)

    def results(tasks: Sequence[CellsTask]) -> dict[str, Any]:
        """Return the results of tasks by joint, computed from the largest task on."""
        by_joint = {}
        work, folder = partial(fit_work, skeleton, options), str(corpus.folder.resolve())
        largest_first = sorted(tasks, key=lambda task: -task.size)
        for outcome in run(folder, largest_first, work, jobs=jobs, scheduler=scheduler):
            joint = outcome.task.joints[0]
            if outcome.error:
                raise ValueError(f"{joint}: {outcome.error}")
            by_joint[joint] = outcome.result
            next(shown, None)
        return by_joint

    fits: dict[str, JointFit] = results([tasks[(joint,)] for joint in wanted])
    for joint in wanted:
        for warning in fits[joint][1]:
            warnings.warn(warning, stacklevel=2)
    provenance = _provenance(corpus, options, entries, heads)
    learned = _join([fits[joint][0] for joint in wanted], provenance)
    if options.depends:
        pairs: dict[str, LearnedPair | None] = results(
            _pair_tasks(drivers, learned, options, tasks)
        )
        used = {name: pair for name in drivers if (pair := pairs.get(name)) is not None}
        learned = learned.with_dependents(cut_chains(used) if options.depends == "auto" else used)
    constraints = couple(learned.limits, learned.dependents)
    return LimitModel(constraints, skeleton, learned.provenance, learned.samples)


def _collect_cells(
    entries: Sequence[ClipEntry], heads: Mapping[str, Head], names: Mapping[str, Mapping[str, str]]
) -> dict[Key, CellsTask]:
    """Return a task for each joint and pair of the model, with the clips that have its cells.

    `heads`, and `names` of the model's joints by those of the clip, are by the mark of a clip.
    """
    tasks: dict[Key, CellsTask] = defaultdict(lambda: CellsTask(()))
    for number, entry in enumerate(entries):
        renamed = names[entry.mark]
        for info in heads[entry.mark].cells:
            if set(info.joints) <= set(renamed):
                joints = tuple(renamed[name] for name in info.joints)
                task = tasks[joints]
                task.joints = joints
                task.parts.append((number, entry.performer, entry.mark, info.joints))
                task.size += info.size
                task.flips += info.flips
    return tasks


def _provenance(
    corpus: Corpus, options: FitOptions, entries: Sequence[ClipEntry], heads: Mapping[str, Head]
) -> dict[str, Any]:
    rows = [
        {
            "name": entry.name,
            "performer": entry.performer,
            "frames": entry.frames,
            "frame_time": heads[entry.mark].frame_time,
            "first_frame_dropped": heads[entry.mark].first_frame_dropped,
        }
        for entry in sorted(entries, key=lambda entry: entry.name)
    ]
    return {
        "clips": rows,
        "options": options.with_defaults({entry.performer for entry in entries}).to_dict(),
        "cell": corpus.options.cell,
    }


def _join(parts: Sequence[LearnedLimits], provenance: dict[str, Any]) -> LearnedLimits:
    """Return the limits of all joints together, with this provenance and that of joints."""
    joints = {k: v for part in parts for k, v in part.provenance["joints"].items()}
    return LearnedLimits(
        {name: limit for part in parts for name, limit in part.limits.items()},
        {name: samples for part in parts for name, samples in part.samples.items()},
        provenance | {"joints": joints},
        variable={name: limit for part in parts for name, limit in part.variable.items()},
    )


def fit_work(skeleton: Skeleton, options: FitOptions, folder: str, task: CellsTask) -> TaskOutcome:
    """Fit one joint or pair from the summaries in a folder, in any process; never raises.

    The result is a `JointFit`, or for a pair a `LearnedPair`, None if it does not pay.
    """
    try:
        corpus = Corpus.open(Path(folder))
        cells = merge_cells(
            (performer, numbered(load_summary(corpus.summary_file(mark), [key]).cells[key], number))
            for number, performer, mark, key in task.parts
        )
        cells = {performer: part for performer, part in cells.items() if len(part.counts)}
        fit: Callable[..., Any] = _fit_joint if task.variable is None else _fit_pair
        return TaskOutcome(task, fit(skeleton, options, task, cells))
    except (ValueError, OSError) as error:
        return TaskOutcome(task, error=error_text(error))


def _fit_joint(
    skeleton: Skeleton, options: FitOptions, task: CellsTask, cells: Mapping[str, Cells]
) -> JointFit:
    takes = [take_of(part, performer) for performer, part in cells.items()]
    (joint,) = task.joints
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learned = learn_from_takes({joint: takes}, skeleton, options, (), flips={joint: task.flips})
    return learned, [warning.message for warning in caught]


def _fit_pair(
    skeleton: Skeleton, options: FitOptions, task: CellsTask, cells: Mapping[str, Cells]
) -> LearnedPair | None:
    assert task.variable is not None
    people = [frames_of(part, performer) for performer, part in cells.items()]
    _, driver = task.joints
    axis = bone_axes(skeleton)[skeleton.index(driver)]
    reject = options.rejection_for(set(cells))
    auto = options.depends == "auto"
    return learn_pair(task.variable, driver, axis, people, reject, if_pays=auto)


def _pair_tasks(
    drivers: Mapping[str, str],
    learned: LearnedLimits,
    options: FitOptions,
    tasks: Mapping[Key, CellsTask],
) -> list[CellsTask]:
    """Return the pairs to learn, with the limits of their joints."""
    pairs = []
    for name, driver in drivers.items():
        variable = learned.variable.get(name)  # None if all of its frames are capture flips
        if variable is not None and driver in learned.limits and not variable.is_thin:
            pairs.append(replace(tasks[name, driver], variable=variable))
        elif options.depends != "auto":
            lost = next((n for n in (name, driver) if n not in learned.limits), None)
            reason = f"{name} is to depend on {driver}, but {lost} gets no limit"
            raise ValueError(thin_message(name, driver) if lost is None else reason)
    return pairs


def _drivers(
    corpus: Corpus,
    depends: Mapping[str, str] | str,
    skeleton: Skeleton,
    wanted: Sequence[str],
    tasks: Mapping[Key, CellsTask],
    names: Mapping[str, Mapping[str, str]],
) -> dict[str, str]:
    """Return the requested drivers by joint; ValueError if the corpus lacks a pair."""
    drivers = pairs_to_learn(depends, skeleton, wanted)
    if isinstance(depends, str):
        drivers = {name: driver for name, driver in drivers.items() if (name, driver) in tasks}
        if not drivers:
            raise ValueError(_lacking(corpus, "of joints and their drivers", "auto"))
    for pair in drivers.items():
        name, driver = pair
        able = sum(set(pair) <= set(renamed.values()) for renamed in names.values())
        if pair not in tasks:
            raise ValueError(_lacking(corpus, f"of {name} and {driver}", f"{name}:{driver}"))
        if (missing := able - len(tasks[pair].parts)) > 0:
            warnings.warn(
                f"{missing} of {able} clips with {name} and {driver} have no pairs of both, since "
                "they call them otherwise: `corpus add --pairs auto` keeps all",
                stacklevel=3,
            )
    return drivers


def _lacking(corpus: Corpus, pairs: str, option: str) -> str:
    return (
        f"{corpus.folder}: its summaries keep no pairs {pairs}; make a corpus that does, by "
        f"`synovia corpus add CLIPS -o OTHER --pairs {option}`"
    )


def _names_of(
    wanted: Sequence[str], ours: Skeleton, theirs: Skeleton, options: FitOptions
) -> dict[str, str]:
    """Return the names of the `wanted` joints of the skeleton `ours` by those in `theirs`."""
    matched = match(wanted, ours, theirs, names_in(options.names, theirs))
    matched.warn("some clips")
    return {theirs.names[joint]: name for name, joint in matched.joints.items()}


def _merge_people(entries: Sequence[ClipEntry], heads: Sequence[Head]) -> list[ClipEntry]:
    """Return the entries with one name for performers who are one person, with a warning."""
    performers = {entry.name: entry.performer for entry in entries}
    duplicates = compare_marks(
        [entry.name for entry in entries],
        [head.skeleton for head in heads],
        [head.fingerprint for head in heads],
        performers,
    )
    replace(duplicates, common_rig=()).warn()
    people = duplicates.people(performers)
    return [replace(entry, performer=people[entry.name]) for entry in entries]
