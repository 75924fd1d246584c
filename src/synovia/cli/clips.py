"""Clips as users name them: files, directories, globs and manifests; CSV files; output paths."""

from __future__ import annotations

import errno
import glob
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import options
from .terminal import progress

if TYPE_CHECKING:
    from ..arrays import Vectors
    from ..skeleton import Clip, Skeleton

AXES = ("x", "y", "z")


@dataclass(frozen=True)
class ClipFile:
    """A clip that was requested."""

    path: Path
    relative_path: Path
    """The path below the directory that was requested; the file name if a file was."""
    name: str = ""
    """The stem, preceded by as many folders as distinguish it from the others."""
    clip: str = ""
    """The name of the clip in a file that holds several."""
    performer: str = ""
    """The performer, if a manifest names one."""

    @property
    def suffix(self) -> str:
        """The suffix of the file, as clip formats define it."""
        from ..io import clip_suffix

        return clip_suffix(self.path) or self.path.suffix

    def load(self) -> Clip:
        """Return the clip, with the name of this file."""
        which = f"{self.path}#{self.clip}" if self.clip else str(self.path)
        return replace(load_clip(which), name=self.name)


def load_clip(path: str | Path) -> Clip:
    """Return the clip at `path`, on the skeleton of `--skeleton` if the file has none."""
    from .. import io

    return io.load_clip(path, skeleton=options.settings().skeleton)


def load_clips(files: Sequence[ClipFile]) -> list[Clip]:
    """Return all clips, loaded."""
    return [file.load() for file in progress("loading")(files)]


def clip_files(arguments: Sequence[str]) -> list[ClipFile]:
    """Return the clips that files, directories, globs and manifests stand for, each once.

    A file whose contents cannot be listed stands for one clip: loading that reports the error.
    """
    unique = {
        (os.path.realpath(clip.path), clip.clip): clip
        for argument in reversed(arguments)
        for file in reversed(list(_files_of(argument)))
        for clip in reversed(_clips_in(file))
    }
    return _name_files(list(reversed(unique.values())))


def _files_of(argument: str) -> Iterator[ClipFile]:
    """Yield the files that an argument stands for, with the clip if it names one."""
    from ..io import clip_suffix, split_clip

    path, clip = split_clip(argument)
    if path.suffix.lower() == ".csv" and not clip_suffix(path) and path.exists():
        yield from _files_listed(path)
    elif path.is_dir() and not clip:
        yield from _files_in(path)
    elif path.exists():
        yield ClipFile(path, Path(path.name), clip=clip)
    elif not glob.has_magic(argument):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argument)
    else:
        matches = sorted(map(Path, glob.glob(argument, recursive=True)))
        matches = [match for match in matches if match.is_dir() or _is_clip(match)]
        if not matches:
            raise ValueError(f"{argument}: no clip matches; clips end in {_suffixes()}")
        for match in matches:
            if not match.is_dir():
                yield ClipFile(match, Path(match.name))
            elif "**" not in argument:
                yield from _files_in(match)


def _files_listed(manifest: Path) -> Iterator[ClipFile]:
    """Yield the files of a table: column path, relative to the table, and optionally performer."""
    from ..io.tables import csv_table

    for where, row in csv_table(manifest, ("path",), ("path",)):
        path = manifest.parent / row["path"]
        if not path.is_file():
            raise ValueError(f"{where}: no such file: {row['path']!r:.80}")
        relative = Path(os.path.relpath(path, manifest.parent))
        yield ClipFile(path, relative, performer=row.get("performer", ""))


def _files_in(directory: Path) -> Iterator[ClipFile]:
    """Yield the clips below a directory, without hidden ones."""
    paths = []
    for folder, folders, names in os.walk(directory, followlinks=False):
        folders[:] = [name for name in folders if not name.startswith(".")]
        visible = [Path(folder, name) for name in names if not name.startswith(".")]
        paths += [path for path in visible if _is_clip(path)]
    if not paths:
        raise ValueError(f"{directory}: no clips in this directory; clips end in {_suffixes()}")
    for path in sorted(paths):
        yield ClipFile(path, path.relative_to(directory))


def _clips_in(file: ClipFile) -> list[ClipFile]:
    """Return the clips in one file, or the one that was requested."""
    from ..io import list_clips

    if file.clip:
        return [file]
    try:
        return [replace(file, clip=clip) for clip in list_clips(file.path)]
    except (ValueError, OSError):
        return [file]


def _is_clip(path: Path) -> bool:
    """Return True for a clip; warn about a file with a clip's suffix that holds something else."""
    from ..io import clip_format, clip_suffix

    if not clip_suffix(path) or not path.is_file():
        return False
    try:
        reason = clip_format(path).skip(path)
    except OSError:  # loading it reports the error
        return True
    if reason:
        warnings.warn(f"{path}: skipped: {reason}", stacklevel=2)
    return reason is None


def _suffixes() -> str:
    from ..io import CLIP_FORMATS

    return ", ".join(CLIP_FORMATS)


def _name_files(files: list[ClipFile]) -> list[ClipFile]:
    """Name each file by its stem, with more and more of its folders while names are equal."""
    parts = [_name_parts(file) for file in files]
    length = [1] * len(files)
    while True:
        names = ["/".join(part[-n:]) for part, n in zip(parts, length, strict=True)]
        counts = Counter(names)
        same = [k for k, name in enumerate(names) if counts[name] > 1]
        longer = [k for k in same if length[k] < len(parts[k])]
        if same and not longer:
            raise ValueError(f"two clips are called {names[same[0]]!r}: rename one")
        if not same:
            return [replace(file, name=name) for file, name in zip(files, names, strict=True)]
        for k in longer:
            length[k] += 1


def _name_parts(file: ClipFile) -> tuple[str, ...]:
    """Return the folders of a file, and its stem with the clip in it."""
    path = Path(os.path.abspath(file.path))
    stem = path.name[: len(path.name) - len(file.suffix)]
    return (*path.parent.parts, f"{stem}#{file.clip}" if file.clip else stem)


def performers_by_clip(pattern: str | None, files: Sequence[ClipFile]) -> dict[str, str]:
    """Return the performer of each clip by the clip's name; `pattern` is that of `--performer`."""
    from ..learn import performer_of, performers_of

    paths = [file.path.as_posix() for file in files]
    if pattern is not None:
        performers = performers_of(paths, pattern)
    else:
        performers = [
            file.performer or performer_of(path) for file, path in zip(files, paths, strict=True)
        ]
    return {file.name: performer for file, performer in zip(files, performers, strict=True)}


def load_takes(
    arguments: Sequence[str], performer: str | None, names: Mapping[str, str]
) -> tuple[list[Clip], dict[str, str]]:
    """Return all clips, loaded, and the performer of each by the clip's name.

    Raises ValueError unless the map `names` leads from joints of the clips to those of the first.
    """
    files = clip_files(arguments)
    performers = performers_by_clip(performer, files)
    clips = load_clips(files)
    check_map(names, clips[0].skeleton, clips)
    return clips, performers


def joint_names() -> dict[str, str]:
    """Return the mapping of `--map`: names in the clip to names in the limits."""
    from ..io.tables import csv_table

    maps = options.settings().maps
    files = [text for text in maps if text.lower().endswith(".csv")]
    pairs = [text for text in maps if text not in files]
    names = options.parse_pairs(pairs, "--map", form="THEIRS=OURS")
    for file in files:
        for _, row in csv_table(file, ("theirs", "ours"), ("theirs", "ours")):
            names[row["theirs"]] = row["ours"]
    return names


def check_map(names: Mapping[str, str], ours: Skeleton, clips: Sequence[Clip]) -> None:
    """Raise ValueError if `ours`, or every clip, lacks a joint that the map `names` mentions."""
    for name in names.values():
        ours.index(name)
    for name in names:
        if not any(name in clip.skeleton.names for clip in clips):
            clips[0].skeleton.index(name)


def output_paths(
    arguments: Sequence[str], files: Sequence[ClipFile], output: Path, to: str | None = None
) -> dict[ClipFile, Path]:
    """Return the path to write each clip to, once all of them can be written.

    `output` is a file for the clips of one file, else a directory, in which paths are relative as
    in `arguments`. With the suffix `to`, each clip goes to a file of its own in a directory. Clips
    that are in `output` already, as results of an earlier run, are left out if there are others.
    """
    from ..io import clip_suffix, writable_suffixes

    writable, folder = " or ".join(writable_suffixes()), Path(os.path.realpath(output))
    files = [
        file for file in files if folder not in Path(os.path.realpath(file.path)).parents
    ] or files
    sources = {file.path for file in files}
    if to is None and clip_suffix(output) and not output.is_dir():
        if len(sources) > 1:
            raise click.UsageError(
                f"{len(files)} clips need a directory to go to, got {str(output)!r}"
            )
        targets = dict.fromkeys(files, output)
    else:
        single = len(arguments) == len(sources) == 1 and not Path(arguments[0]).is_dir()
        if to is None and single and not output.is_dir():
            raise click.UsageError(
                f"--output must end in {writable} or be a directory that exists, "
                f"got {str(output)!r}"
            )
        if output.exists() and not output.is_dir():
            raise click.UsageError(
                f"clips need a directory to go to, and {str(output)!r} is a file"
            )
        targets = {file: output / _relative_output(file, to) for file in files}
    owners: dict[str, ClipFile] = {}
    for file, target in targets.items():
        if clip_suffix(target) not in writable_suffixes():
            raise click.UsageError(
                f"{clip_suffix(target) or target.suffix} files are only read; write {writable}, "
                "one clip at a time, or convert them first"
            )
        owner = owners.setdefault(os.path.realpath(target), file)
        if owner.path != file.path:
            raise ValueError(f"{owner.path} and {file.path} would both be written to {target}")
        if target == output or target.parent.exists():
            options.check_output(target)
    return targets


def _relative_output(file: ClipFile, to: str | None) -> Path:
    """Return the path of a clip below the output directory, with the suffix `to` if given."""
    if to is None:
        return file.relative_path
    stem = file.path.name[: len(file.path.name) - len(file.suffix)]
    name = re.sub(r'[/\\:*?"<>|]|[^ -~\w]', "_", f"{stem}_{file.clip}") if file.clip else stem
    return file.relative_path.with_name(name + to)


def save_to(clips: list[Clip], target: Path) -> None:
    """Write clips to one file, and create its directory."""
    from ..io import save_clips

    target.parent.mkdir(parents=True, exist_ok=True)
    save_clips(clips, target)


def parse_target(option: str, text: str, frames: int) -> Vectors:
    """Return the target typed as X,Y,Z or FILE.csv: (3,), or (frames, 3).

    Titles in a file name the columns x, y and z; others are ignored. Without titles there are three
    columns.
    """
    import numpy as np

    from ..io.tables import csv_rows

    if not text.lower().endswith(".csv"):
        return options.parse_vector(option, text, "three numbers X,Y,Z, or a .csv file")
    rows, columns = csv_rows(Path(text)), list(AXES)
    titles = [cell.lower() for cell in rows[0][1]] if rows else []
    if set(AXES) <= set(titles):
        rows, columns = rows[1:], titles
    if len(rows) != frames:
        raise ValueError(
            f"{text}: expected {frames} rows, one for each frame of the clip, got {len(rows)}"
        )
    points = []
    for where, cells in rows:
        if len(cells) != len(columns):
            raise ValueError(
                f"{where}: expected {len(columns)} columns, {','.join(columns)}, got {len(cells)}"
            )
        try:
            points.append([options.parse_number(axis, cells[columns.index(axis)]) for axis in AXES])
        except click.UsageError as error:
            raise ValueError(f"{where}: {error.message}") from None
    return np.array(points).reshape(-1, 3)
