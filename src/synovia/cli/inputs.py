"""What people type: clips, maps of names, shares, performers, options of shapes, targets."""

from __future__ import annotations

import errno
import glob
import math
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click

from . import human
from .terminal import ANGLES, progress

if TYPE_CHECKING:
    from ..arrays import Vectors
    from ..learn import Progress
    from ..model import LimitModel
    from ..population import HumanLimits, Source
    from ..skeleton import Clip, Skeleton

SOURCES: tuple[Source, ...] = ("human", "possible", "usual", "anatomy")
"""Limits that need no file: of `population.SOURCES`, which takes longer to import."""
FIGURE_SUFFIX = ".xml"


# What people type: clips as files, directories and globs, maps of names, shares, performers.


SKELETON: ContextVar[Path | None] = ContextVar("SKELETON", default=None)
"""The file with the skeleton of clips that come without."""


def _remember_skeleton(_ctx: click.Context, _param: click.Parameter, value: Path | None) -> None:
    SKELETON.set(value)


skeleton_option = click.option(
    "--skeleton",
    metavar="FILE",
    type=click.Path(path_type=Path),
    expose_value=False,
    callback=_remember_skeleton,
    help="Where the skeleton is, for clips that have it apart and not beside them: the .asf of an "
    ".amc, or any clip of the same joints.",
)


def human_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about limits and how they are put on a rig."""
    for option in (human.verbose_option, skeleton_option, human.tpose_option, map_option):
        command = option(command)
    return limits_option(command)


@dataclass(frozen=True)
class ClipFile:
    """A clip that was asked for."""

    path: Path
    relative_path: Path
    """Where it stands below the directory that was asked for; its file name if it was named."""
    name: str = ""
    """What it is called: the stem, with as many folders as tell it from the others."""
    clip: str = ""
    """Which of the clips in the file it is, where there are several."""
    performer: str = ""
    """Who performs in it, where a manifest says."""

    @property
    def suffix(self) -> str:
        """What the file's name ends with, as formats are told by."""
        from ..io import clip_suffix

        return clip_suffix(self.path) or self.path.suffix

    def load(self) -> Clip:
        """Return the clip, under its name."""
        from ..io import load_clip

        return replace(load_clip(self._which, skeleton=SKELETON.get()), name=self.name)

    @property
    def _which(self) -> str:
        return f"{self.path}#{self.clip}" if self.clip else str(self.path)


def clip_files(arguments: Sequence[str], *, unread: bool = False) -> list[ClipFile]:
    """Return the clips that files, directories and globs stand for, each once.

    Where a file cannot be looked into for the clips in it, that is raised; or, with `unread`, the
    file stands for one, and reading it will say what is wrong.
    """
    found = {
        (os.path.realpath(clip.path), clip.clip): clip
        for argument in reversed(arguments)
        for file in reversed(list(_files_of(argument)))
        for clip in reversed(_clips_in(file, unread=unread))
    }
    return _name_files(list(reversed(found.values())))


def _files_of(argument: str) -> Iterator[ClipFile]:
    """Yield the files that an argument stands for, with the clip where it names one."""
    from ..io import clip_suffix, split_clip

    path, clip = split_clip(argument)
    if path.suffix.lower() == ".csv" and not clip_suffix(path) and path.exists():
        yield from _files_listed(path)
    elif clip:
        yield ClipFile(path, Path(path.name), clip=clip)
    elif path.is_dir():
        yield from _files_in(path)
    elif path.exists():
        yield ClipFile(path, Path(path.name))
    elif not glob.has_magic(argument):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argument)
    else:
        matches = sorted(map(Path, glob.glob(argument, recursive=True)))
        clips = [match for match in matches if match.is_dir() or _is_clip(match)]
        if not clips:
            raise ValueError(f"{argument}: no clip matches; clips end in {_suffixes()}")
        for match in clips:
            if not match.is_dir():
                yield ClipFile(match, Path(match.name))
            elif "**" not in argument:
                yield from _files_in(match)


def _files_listed(manifest: Path) -> Iterator[ClipFile]:
    """Yield the files of a table with the column path, below its folder; performer if there."""
    for place, row in _table_rows(str(manifest), ("path",), ("performer",)):
        path = manifest.parent / row["path"]
        if not path.is_file():
            raise ValueError(f"{place}: no such file: {row['path']!r:.80}")
        relative = Path(os.path.relpath(path, manifest.parent))
        yield ClipFile(path, relative, performer=row["performer"])


def _files_in(directory: Path) -> Iterator[ClipFile]:
    clips = []
    for folder, folders, names in os.walk(directory, followlinks=False):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = [Path(folder, name) for name in names if not name.startswith(".")]
        clips += [path for path in paths if _is_clip(path)]
    if not clips:
        raise ValueError(f"{directory}: no clips in this directory; clips end in {_suffixes()}")
    for path in sorted(clips):
        yield ClipFile(path, path.relative_to(directory))


def _clips_in(file: ClipFile, *, unread: bool) -> list[ClipFile]:
    """Return the clips in one file, or the one that was asked for."""
    from ..io import list_clips

    if file.clip:
        return [file]
    try:
        return [replace(file, clip=clip) for clip in list_clips(file.path)]
    except (ValueError, OSError):
        if unread:
            return [file]
        raise


def _is_clip(path: Path) -> bool:
    """Return whether a file among others is a clip; say why not, where the suffix is a clip's."""
    from ..io import clip_format, clip_suffix

    if not clip_suffix(path) or not path.is_file():
        return False
    try:
        why = clip_format(path).skip(path)
    except OSError:  # reading it will say so
        return True
    if why:
        warnings.warn(f"{path}: skipped: {why}", stacklevel=2)
    return why is None


def _suffixes() -> str:
    from ..io import CLIP_FORMATS

    return " or ".join(CLIP_FORMATS)


def _name_files(files: list[ClipFile]) -> list[ClipFile]:
    """Name each file by its stem, and by ever more of its folders while others have that name."""
    parts = [_name_parts(file) for file in files]
    length = [1] * len(files)
    while True:
        names = ["/".join(part[-n:]) for part, n in zip(parts, length, strict=True)]
        taken = Counter(names)
        longer = [
            k for k, name in enumerate(names) if taken[name] > 1 and length[k] < len(parts[k])
        ]
        if not longer:
            break
        for k in longer:
            length[k] += 1
    if again := next((name for name, times in taken.items() if times > 1), None):
        raise ValueError(f"two clips are called {again!r}: rename one")
    return [replace(file, name=name) for file, name in zip(files, names, strict=True)]


def _name_parts(file: ClipFile) -> tuple[str, ...]:
    """Return the folders of a file, and its stem with the clip in it."""
    path = Path(os.path.abspath(file.path))
    stem = path.name[: len(path.name) - len(file.suffix)]
    return (*path.parent.parts, f"{stem}#{file.clip}" if file.clip else stem)


def load_all(files: Sequence[ClipFile]) -> list[Clip]:
    """Return all clips, loaded."""
    return [file.load() for file in progress("loading")(files)]


def share(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Return what was typed as 0.005 or as 0.5% as a number from 0 to 1."""
    if value is None:
        return None
    text = value.strip()
    try:
        number = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        number = math.nan
    if not 0.0 <= number < 1.0:
        raise click.BadParameter(f"must be a share like 0.5% or 0.005, got {value!r}", ctx, param)
    return number


def pairs(
    texts: Sequence[str], option: str, *, sign: str = "=", form: str = "NAME=VALUE"
) -> dict[str, str]:
    """Return KEY=VALUE texts as a mapping; with another `sign` they are of another `form`."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition(sign))
        if not (key and equals and value):
            raise click.UsageError(f"{option} takes {form}, got {text!r}")
        if found.setdefault(key, value) != value:
            raise click.UsageError(f"{option} gives {key} twice: {found[key]} and {value}")
    return found


def split_names(texts: Sequence[str]) -> list[str]:
    """Return the names in texts like "A,B"."""
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


map_option = click.option(
    "-m",
    "--map",
    "maps",
    multiple=True,
    metavar="THEIRS=OURS|FILE.csv",
    help="What the clip calls a joint, and what the limits call it; limits of a human have roles, "
    "such as leftUpperArm. Repeat it, or give a file with the columns theirs,ours. Prefixes like "
    "mixamorig: need no map.",
)


def joint_names(maps: Sequence[str]) -> dict[str, str]:
    """Return what --map says: names of the clip to names of the limits."""
    files = [text for text in maps if text.lower().endswith(".csv")]
    names = pairs([text for text in maps if text not in files], "--map")
    for file in files:
        names.update((row["theirs"], row["ours"]) for row in csv_rows(file, ("theirs", "ours")))
    return names


def csv_rows(path: str, columns: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows of a CSV file whose first line names `columns`."""
    return [row for _, row in _table_rows(path, columns)]


def _table_rows(
    path: str, columns: Sequence[str], maybe: Sequence[str] = ()
) -> list[tuple[str, dict[str, str]]]:
    """Return the rows of a CSV file, each with its place; `maybe` columns may be empty or lack."""
    from ..io.lines import csv_table

    check_file(Path(path))
    rows = []
    for place, row in csv_table(path, columns):
        cells = {column: row[column] for column in columns}
        if not all(cells.values()):
            raise ValueError(
                f"{place}: expected {' and '.join(columns)}, got {','.join(cells.values())!r:.80}"
            )
        rows.append((place, cells | {column: row.get(column, "") for column in maybe}))
    return rows


def performers(who: str | None, files: Sequence[ClipFile]) -> dict[str, str]:
    """Return the performer of each clip, by the clip's name."""
    from ..learn import performer_of, performers_of

    if who is None:
        return {file.name: file.performer or performer_of(file.path.as_posix()) for file in files}
    if not who.lower().endswith(".csv"):
        people = performers_of([file.path.as_posix() for file in files], who)
        return {file.name: performer for file, performer in zip(files, people, strict=True)}
    rows = {row["clip"]: row["performer"] for row in csv_rows(who, ("clip", "performer"))}
    found = {}
    for file in files:
        path = file.path
        called = [path.as_posix(), file.relative_path.as_posix(), file.name, path.name, path.stem]
        row = next((name for name in called if name in rows), None)
        if row is None:
            raise ValueError(f"{who}: expected a row for the clip {path}, got none")
        found[file.name] = rows[row]
    return found


def check_map(names: Mapping[str, str], ours: Skeleton, clips: Sequence[Clip]) -> None:
    """Raise ValueError where the map names a joint that is nowhere."""
    for name in names.values():
        ours.index(name)
    for name in names:
        if not any(name in clip.skeleton.names for clip in clips):
            clips[0].skeleton.index(name)


@dataclass(frozen=True, eq=False)
class Applied:
    """Limits as one clip has them."""

    model: LimitModel
    names: dict[str, str]
    """What the clip calls joints, and what the model does."""
    human: HumanLimits | None = None
    """How the rig was understood, where limits are those of a human."""


def load_limits_of(limits: str, option: str = "--limits") -> LimitModel | Source:
    """Return the limits in a file, or the name of those that are made for each rig.

    `option` is where that was typed.
    """
    from ..io import load_limits
    from ..io.limits import SUFFIX

    for source in SOURCES:
        if limits == source:
            return source
    if not limits.lower().endswith(SUFFIX) and not Path(limits).exists():
        close = get_close_matches(limits, SOURCES, 1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise click.UsageError(
            f"{option} takes a file that ends in {SUFFIX}, or {', '.join(SOURCES)}; {hint}"
            f"got {limits!r}"
        )
    return load_limits(limits)


def load_limits_or_figure(limits: str) -> LimitModel | Source:
    """As `load_limits_of`, or what the controls of a figure in a file allow."""
    from ..io import load_figure
    from ..io.figure import is_figure
    from ..model import LimitModel

    if limits.lower().endswith(FIGURE_SUFFIX) and is_figure(limits):
        return LimitModel.of_figure(load_figure(limits))
    return load_limits_of(limits)


def clips_for(
    limits: LimitModel | Source, files: Sequence[ClipFile], names: Mapping[str, str], label: str
) -> Iterator[tuple[ClipFile, Clip, Applied]]:
    """Load the clips one at a time, and yield each with its limits once it is sure to match."""
    from ..skeleton import names_in

    if isinstance(limits, str):
        yield from _on_rigs(limits, files, names, label)
        return
    for name in names.values():
        limits.skeleton.index(name)
    unused = dict(names)
    for file in progress(label)(files):
        clip = file.load()
        if len(files) == 1:
            check_map(names, limits.skeleton, [clip])
        known = names_in(names, clip.skeleton)
        check_match(limits, clip, known)
        unused = {theirs: ours for theirs, ours in unused.items() if theirs not in known}
        yield file, clip, Applied(limits, known)
    _warn_of_unused(unused)


def joint_progress(label: str, files: Sequence[ClipFile]) -> Progress:
    """Return a bar over the joints of the only file; several files have a bar of their own."""
    return progress(label) if len(files) == 1 else iter


def _on_rigs(
    source: Source,
    files: Sequence[ClipFile],
    names: Mapping[str, str],
    label: str,
) -> Iterator[tuple[ClipFile, Clip, Applied]]:
    """Yield clips with the limits of a human on their rigs; among several, only those of humans."""
    from ..skeleton import names_in

    alone, unused, understood = len(files) == 1, dict(names), {}
    stranger: human.NoHumanLimitsError | None = None
    for file in progress(label)(files):
        clip = file.load()
        known = dict(names) if alone else names_in(names, clip.skeleton)
        unused = {theirs: ours for theirs, ours in unused.items() if theirs not in known}
        place = str(file.path)
        try:
            if alone:
                found = apply_human(source, clip, known, place)
            else:
                found = human.limits_on_clip(
                    source, clip, known, place=place, skeleton=SKELETON.get()
                )
        except human.NoHumanLimitsError as error:
            if alone:
                raise human.NoHumanLimitsError(f"{error}. --limits FILE takes others") from None
            stranger = stranger or error
            warnings.warn(f"{error}; this clip is left out", stacklevel=2)
            continue
        understood[clip.name] = found
        yield file, clip, Applied(found.model, {}, found)
    if not alone:
        human.tell(understood)
    if stranger is not None and not understood:
        raise stranger
    _warn_of_unused(unused)


def _warn_of_unused(names: Mapping[str, str]) -> None:
    if names:
        warnings.warn(f"no clip has {', '.join(names)}, which the map names", stacklevel=2)


def apply_human(source: Source, clip: Clip, roles: Mapping[str, str], place: str) -> HumanLimits:
    """Return the limits of a human for the rig of a clip, and say so; errors name its `place`."""
    found = human.limits_on_clip(source, clip, roles, place=place, skeleton=SKELETON.get())
    human.tell({clip.name: found})
    return found


def check_match(model: LimitModel, clip: Clip, names: Mapping[str, str]) -> None:
    """Raise ValueError, telling what to do, where no joint of the clip has a limit."""
    from ..skeleton import list_names

    if not model.match(clip.skeleton, names).joints:
        raise ValueError(
            f"{clip.name}: no joint of this clip has a limit. It has "
            f"{list_names(clip.skeleton.names, 5)}; limits are for "
            f"{list_names(model.names, 5)}. --map THEIRS=OURS says which is which"
        )


def check_file(path: Path) -> None:
    """Raise OSError where there is no file to read."""
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if path.is_dir():
        raise IsADirectoryError(f"{path}: expected a file, got a directory")


def check_output(path: Path, *, force: bool) -> None:
    """Raise OSError if `path` cannot be written, or exists and `force` is false."""
    from ..io.files import check_writable

    check_writable(path)
    if path.exists() and not force:
        raise OSError(errno.EEXIST, "the file exists; --force replaces it", str(path))


def check_limits_output(path: Path, *, force: bool) -> None:
    """Raise where no limits can be written at `path`, or one exists and `force` is false."""
    from ..io.limits import SUFFIX

    if not path.name.lower().endswith(SUFFIX):
        raise click.UsageError(f"--output must end in {SUFFIX}, got {str(path)!r}")
    check_output(path, force=force)


def check_clip_output(path: Path, *, force: bool) -> None:
    """Raise where no clip can be written at `path`, or one exists and `force` is false."""
    from ..io import clip_suffix, writable_suffixes

    if clip_suffix(path) not in writable_suffixes():
        raise click.UsageError(
            f"--output must end in {' or '.join(writable_suffixes())}, got {path}"
        )
    check_output(path, force=force)


force_option = click.option("-f", "--force", is_flag=True, help="Replace files that exist.")
performer_option = click.option(
    "-p",
    "--performer",
    "--performers",
    metavar="REGEX|FILE.csv",
    help="Who performs: a regular expression with one (group), searched in the clip's path, or a "
    "file with the columns clip,performer. Without it, what stands before the first _ or - of "
    "the file's name.",
)
joints_option = click.option(
    "-j",
    "--joints",
    multiple=True,
    metavar="A,B",
    help="Only these joints, instead of all but roots.",
)
limits_option = click.option(
    "-l",
    "--limits",
    "limits",
    default="human",
    show_default=True,
    metavar="FILE|human|possible|usual|anatomy",
    help="The limits: a file, as `synovia fit` writes it or with the ranges of MJCF, URDF and the "
    "like, or those of a human on whatever rig the clip has. possible: what a healthy adult can "
    "do; usual: what nearly all captured people did; human: both verdicts; anatomy: published "
    "ranges of the default human. A file of such a name is ./human. A figure "
    "(.xml, as `synovia figure human -o` writes it) is for clips of its skeleton: joints are legal "
    "as its controls move them together, to 2 degrees.",
)
limits_file_option = click.option(
    "-l",
    "--limits",
    "limits_path",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The limits, as `synovia fit` writes them.",
)
clips_argument = click.argument(
    "clips", nargs=-1, required=True, metavar="CLIP...", type=click.Path()
)


# Options of shapes as people type them, KEY=VALUE, by what the shapes' fits take.


def shape_options(shape: str, typed: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of a shape's fit, or of an estimator, with the types that it takes."""
    from ..learn import ESTIMATORS
    from ..shapes import SHAPES

    takes = (SHAPES[shape] if shape in SHAPES else ESTIMATORS[shape]).fit_options(typed)
    offered = ", ".join(f"{key}={_values(key, kind)}" for key, kind in takes.items())
    chosen: dict[str, Any] = {}
    for key, value in typed.items():
        if key not in takes:
            raise click.UsageError(f"--with {key}: {shape} takes {offered or 'no options'}")
        try:
            chosen[key] = _convert(takes[key], value)
            if key in ANGLES:
                chosen[key] = math.radians(chosen[key])
        except ValueError:
            wanted = _values(key, takes[key])
            raise click.UsageError(f"--with {key} must be {wanted}, got {value!r}") from None
    return chosen


def _values(key: str, kind: Any) -> str:
    if key in ANGLES:
        return "DEGREES"
    return "|".join(get_args(kind)) if get_origin(kind) is Literal else kind.__name__.upper()


def _convert(kind: Any, text: str) -> Any:
    if get_origin(kind) is not Literal:
        return kind(text)
    if text not in get_args(kind):
        raise ValueError(text)
    return text


# Targets as people give them: a point, or a file with a point for each frame.


AXES = ("x", "y", "z")
FRAME = "frame"
LARGEST = 1e12  # of coordinates and angles that are typed: far from where squares lose digits
Row = tuple[str, list[str]]
"""Where it stands, FILE:LINE, and its cells."""


def is_usable(number: float) -> bool:
    """Tell whether a number that was typed can be computed with: finite, and at most `LARGEST`."""
    return abs(number) <= LARGEST


def parse_target(option: str, text: str, frames: int) -> Vectors:
    """Return what X,Y,Z or FILE.csv stands for: (3,), or (frames, 3)."""
    if text.lower().endswith(".csv"):
        return load_points(Path(text), frames)
    return parse_vector(option, text, "three numbers X,Y,Z, or a .csv file")


def parse_direction(option: str, text: str) -> Vectors:
    """Return a direction that was typed as X,Y,Z, of any length above 0."""
    typed = parse_vector(option, text)
    if not typed.any():
        raise click.UsageError(f"{option} takes a direction X,Y,Z, got {text!r}, which has none")
    return typed


def parse_vector(option: str, text: str, takes: str = "three numbers X,Y,Z") -> Vectors:
    """Return three numbers that were typed as X,Y,Z."""
    import numpy as np

    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 3 or not all(map(is_usable, numbers)):
        raise click.UsageError(f"{option} takes {takes}, of at most {LARGEST:g}, got {text!r}")
    return np.array(numbers)


def load_points(file: Path, frames: int) -> Vectors:
    """Return the points (frames, 3) in a CSV file, with or without a line of titles.

    Titles say which columns are x, y and z; one called frame must count from 0, and others do not
    matter. Without titles there are three columns.
    """
    import numpy as np

    rows = _read_rows(file)
    columns = list(AXES)
    if rows and not any(map(_is_number, rows[0][1])):
        where, cells = rows.pop(0)
        columns = [cell.lower() for cell in cells]
        if any(columns.count(axis) != 1 for axis in AXES):
            raise ValueError(
                f"{where}: expected three numbers, or titles with x, y and z once each, "
                f"got {','.join(cells)!r:.80}"
            )
    points = [_parse_point(row, columns, number) for number, row in enumerate(rows)]
    if len(points) != frames:
        raise ValueError(
            f"{file}: expected {frames} rows, one for each frame of the clip, got {len(points)}"
        )
    return np.array(points).reshape(-1, 3)


def _read_rows(file: Path) -> list[Row]:
    """Return all rows of a file that are not blank."""
    from ..io.lines import csv_rows

    check_file(file)
    rows = csv_rows(file)
    for place, cells in rows:
        if len(cells) == 1 and (";" in cells[0] or "\t" in cells[0]):
            raise ValueError(f"{place}: columns must be separated by commas, got {cells[0]!r:.80}")
    return [row for row in rows if any(row[1])]


def _parse_point(row: Row, columns: Sequence[str], frame: int) -> list[float]:
    """Return x, y and z of a row."""
    where, cells = row
    if len(cells) != len(columns):
        raise ValueError(
            f"{where}: expected {len(columns)} columns, {','.join(columns)}, got {len(cells)}"
        )
    named = dict(zip(columns, cells, strict=True))
    for name in (*AXES, *({FRAME} & named.keys())):
        if not _is_number(named[name]) or not is_usable(float(named[name])):
            raise ValueError(
                f"{where}: {name} must be a number of at most {LARGEST:g}, got {named[name]!r:.80}"
            )
    if FRAME in named and float(named[FRAME]) != frame:
        raise ValueError(
            f"{where}: frames must be all there and count from 0: expected {frame}, "
            f"got {named[FRAME]!r:.80}"
        )
    return [float(named[axis]) for axis in AXES]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
