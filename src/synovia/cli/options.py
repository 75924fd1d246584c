"""Options and arguments that commands share, and the parsing of what users type for them."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

if TYPE_CHECKING:
    from ..arrays import Vectors
    from ..population import Source

Function = TypeVar("Function", bound=Callable[..., Any])
SOURCES: tuple[Source, ...] = ("human", "possible", "usual", "anatomy")
"""Limits that need no file: `population.SOURCES`, repeated here because that import is slow."""
LIMITS_SUFFIX = ".limits.json"  # `io.limits.SUFFIX`, for the same reason
LIMITS_METAVAR = f"FILE|{'|'.join(SOURCES)}"
MAX_NUMBER = 1e12  # of coordinates and angles that are typed; squares keep their digits
MIN_UNIT, MAX_UNIT = 1e-9, 1e9  # metres
UNITS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048}
"""Metres by the names of units."""
SECTIONS = {
    "Limits and rigs": ("limits", "maps", "tpose", "skeleton", "humans_only"),
    "Output": ("output", "as_json", "csv_path", "curves", "ranges", "keep_samples", "force"),
    "Other options": ("verbose", "debug"),
}
"""Names of the options that many commands have, by their title in the help."""


@dataclass
class Settings:
    """Values of options that many functions read; a run of the command line has one, `ctx.obj`."""

    debug: bool = False
    """Show tracebacks."""
    verbose: bool = False
    """Report how a rig was recognised."""
    force: bool = False
    """Replace files that exist."""
    maps: tuple[str, ...] = ()
    """Names of joints in clips and in limits, as typed; see `clips.joint_names`."""
    skeleton: Path | None = None
    """The file with the skeleton of clips that come without one."""
    tpose: str | None = None
    """The reference pose for human limits: the index of a frame, or a file."""
    humans_only: bool = False
    """Clips that human limits do not apply to do not count for the exit code."""
    is_complete: bool = True
    """False once a clip was left out that counts for the exit code."""


def settings() -> Settings:
    """Return the settings of the command that runs; the defaults outside of a command."""
    context = click.get_current_context(silent=True)
    return Settings() if context is None else context.ensure_object(Settings)


def _remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Store the value of an option, if one was given, in the settings."""
    if value not in (None, False):
        setattr(context.ensure_object(Settings), option.name or "", value)


setting_option = partial(click.option, expose_value=False, callback=_remember)
debug_option = setting_option(
    "--debug", is_flag=True, help="Show a traceback when something goes wrong."
)


class TeachingCommand(click.Command):
    """A command whose help groups its options by `SECTIONS` and ends with `examples`.

    `examples` are descriptions and command lines.
    """

    def __init__(self, *args: Any, examples: Sequence[tuple[str, str]] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        debug_option(self)
        self.examples = examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of this command first, then those of each section."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        shared = {name: title for title, names in SECTIONS.items() for name in names}
        for section in ("Options", *SECTIONS):
            records = [
                option.get_help_record(ctx)
                for option in options
                if shared.get(option.name or "", "Options") == section
            ]
            if rows := [record for record in records if record]:
                with formatter.section(section):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are typed, each below its description."""
        with formatter.section("Examples"):
            for about, line in self.examples:
                indent = " " * formatter.current_indent
                formatter.write(f"{indent}# {about}\n{indent}{line}\n")


def parsed_by(parse: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a callback of click that gives an option the value `parse` returns; None stays.

    A ValueError is reported as an error of the option.
    """

    def callback(_context: click.Context, _option: click.Parameter, value: Any) -> Any:
        try:
            return None if value is None else parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return callback


def parse_share(text: str) -> float:
    """Return a share typed as 0.005 or as 0.5% as a number from 0 to 1."""
    number = text.strip()
    try:
        share = float(number.removesuffix("%")) / (100.0 if number.endswith("%") else 1.0)
    except ValueError:
        share = math.nan
    if not 0.0 <= share < 1.0:
        raise ValueError(f"must be a share like 0.5% or 0.005, got {text!r}")
    return share


def parse_unit(text: str) -> float:
    """Return the metres of a unit given by name or as a number."""
    try:
        unit = UNITS[text] if text in UNITS else float(text)
    except ValueError:
        unit = math.nan
    if not MIN_UNIT <= unit <= MAX_UNIT:
        raise ValueError(
            f"must be {', '.join(UNITS)}, or a number of metres from {MIN_UNIT:g} to "
            f"{MAX_UNIT:g}, got {text!r}"
        )
    return unit


def split_names(texts: Sequence[str]) -> list[str]:
    """Return the names in texts like "A,B"."""
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


AXIS = click.Choice(["x", "y", "z"])
command = partial(click.command, cls=TeachingCommand)
clips_argument = click.argument(
    "clips", nargs=-1, required=True, metavar="CLIP...", type=click.Path()
)
force_option = setting_option("-f", "--force", is_flag=True, help="Replace files that exist.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else.")
map_option = setting_option(
    "-m",
    "--map",
    "maps",
    multiple=True,
    metavar="THEIRS=OURS|FILE.csv",
    help="A joint's name in the clip, and in the limits; human limits have roles, such as "
    "leftUpperArm. Repeat it, or give a file with the columns theirs,ours. Prefixes like "
    "mixamorig: need no map.",
)
skeleton_option = setting_option(
    "--skeleton",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The skeleton of clips without one, unless it is beside them: the .asf of an .amc, or "
    "any clip of the same joints.",
)
tpose_option = setting_option(
    "--tpose",
    metavar="FRAME|FILE",
    help="For human limits, a pose in which somebody stands, the arms hanging or to the sides: a "
    "frame of the clip, or the first of another clip of this rig.  [default: the rest pose, or "
    "the frame that is most like standing]",
)
verbose_option = setting_option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Report how the rig was recognised: roles of joints, reference pose, rotations.",
)
humans_only_option = setting_option(
    "--humans-only",
    is_flag=True,
    help="Among several clips, ignore those that human limits do not apply to: they do not count "
    "for the exit code.",
)
performer_option = click.option(
    "-p",
    "--performer",
    "--performers",
    metavar="REGEX",
    help="The performer: a regular expression with one (group), searched in the clip's path.  "
    "[default: as in a table of clips, else the file's name up to the first _ or -]",
)
joints_option = click.option(
    "-j",
    "--joints",
    multiple=True,
    metavar="A,B",
    callback=parsed_by(lambda texts: split_names(texts) or None),
    help="Only these joints, instead of all but roots.",
)
relative_option = click.option(
    "--relative-to",
    "ancestors",
    multiple=True,
    metavar="JOINT=ANCESTOR",
    help="Measure a joint from a joint above it instead of from its parent. Repeat it for more.",
)
limits_option = click.option(
    "-l",
    "--limits",
    "limits",
    default="human",
    show_default=True,
    metavar=LIMITS_METAVAR,
    help="The limits: a file, as `synovia fit` writes it or with the ranges of MJCF, URDF and the "
    "like, or human limits on whatever rig the clip has. possible: what a healthy adult can do; "
    "usual: what nearly all captured people did; human: both verdicts; anatomy: published ranges "
    "of the default human. A file of such a name is ./human. A figure (.xml, as `synovia figure "
    "human -o` writes it) is for clips of its skeleton: joints are legal as its controls move "
    "them together, to 2 degrees.",
)


def output_option(
    about: str,
    metavar: str = "OUT",
    *,
    required: bool = True,
    folder: bool = False,
    force: bool = True,
) -> Callable[[Function], Function]:
    """Return a decorator that adds `--output` and, unless `force` is false, `--force`."""
    kind = click.Path(path_type=Path, file_okay=not folder)
    add = click.option("-o", "--output", required=required, metavar=metavar, type=kind, help=about)
    return (lambda function: add(force_option(function))) if force else add


limits_output_option = output_option(
    "The limits to write: a name that ends in .limits.json.", "FILE"
)


def rig_options(function: Function) -> Function:
    """Add the options about putting human limits on rigs."""
    for option in (verbose_option, skeleton_option, tpose_option, map_option):
        function = option(function)
    return function


def human_options(function: Function) -> Function:
    """Add the options about limits and about putting them on rigs."""
    return limits_option(rig_options(function))


def parse_pairs(texts: Sequence[str], option: str, *, form: str, sign: str = "=") -> dict[str, str]:
    """Return KEY=VALUE texts as a mapping; `form` is what an error says the option takes."""
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition(sign))
        if not (key and equals and value):
            raise click.UsageError(f"{option} takes {form}, got {text!r}")
        if pairs.setdefault(key, value) != value:
            raise click.UsageError(f"{option} gives {key} twice: {pairs[key]} and {value}")
    return pairs


def parse_drivers(texts: Sequence[str], option: str = "--depends") -> dict[str, str] | str | None:
    """Return drivers by joint, "auto", or None if `texts` is empty."""
    if "auto" in texts:
        if len(texts) > 1:
            raise click.UsageError(f"{option} auto finds the joints itself: give it alone")
        return "auto"
    return parse_pairs(texts, option, sign=":", form="JOINT:DRIVER or auto") or None


def parse_number(option: str, text: str) -> float:
    """Return a finite number of at most `MAX_NUMBER`."""
    return _parse_numbers(option, text, f"a number of at most {MAX_NUMBER:g}", 1)[0]


def parse_vector(option: str, text: str, form: str = "three numbers X,Y,Z") -> Vectors:
    """Return the vector (3,) typed as X,Y,Z; `form` is what an error says the option takes."""
    import numpy as np

    return np.array(_parse_numbers(option, text, f"{form}, of at most {MAX_NUMBER:g}", 3))


def _parse_numbers(option: str, text: str, form: str, count: int) -> list[float]:
    """Return `count` numbers separated by commas; `form` is what the option takes."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(abs(number) <= MAX_NUMBER for number in numbers):
        raise click.UsageError(f"{option} takes {form}, got {text!r:.80}")
    return numbers


def exit_with(failed: bool) -> NoReturn:
    """Exit with 1 if `failed`, or if a clip was left out that counts for the exit code; else 0."""
    raise click.exceptions.Exit(1 if failed or not settings().is_complete else 0)


def check_file(path: Path) -> None:
    """Raise OSError unless there is a file at `path`."""
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if path.is_dir():
        raise IsADirectoryError(f"{path}: expected a file, got a directory")


def check_output(path: Path) -> None:
    """Raise OSError if `path` cannot be written, or exists without `--force`."""
    from ..io.files import check_writable

    check_writable(path)
    if path.exists() and not settings().force:
        raise OSError(errno.EEXIST, "the file exists; --force replaces it", str(path))


def check_picture(path: Path) -> None:
    """Raise unless a picture can be drawn and `check_output` accepts the path."""
    from ..draw.style import picture_format

    try:
        picture_format(path)
    except ImportError:
        raise click.ClickException(
            "pictures need matplotlib: pip install 'synovia[draw]' brings it"
        ) from None
    check_output(path)


def check_suffix(path: Path, suffixes: Sequence[str]) -> None:
    """Raise UsageError unless `path` ends in one of the suffixes."""
    if not path.name.lower().endswith(tuple(suffixes)):
        raise click.UsageError(f"--output must end in {' or '.join(suffixes)}, got {str(path)!r}")


def check_limits_output(path: Path) -> None:
    """Raise unless `path` ends as limits files do and `check_output` accepts it."""
    check_suffix(path, (LIMITS_SUFFIX,))
    check_output(path)
