"""`synovia runtime`: limits for programs without Python."""

from __future__ import annotations

from pathlib import Path

import click

from . import inputs, terminal

EXAMPLES = (
    ("the header alone", "synovia runtime -o game/"),
    ("with limits", "synovia runtime -o game/ --limits walk.limits.json"),
)


@click.command(cls=terminal.TeachingCommand, examples=EXAMPLES)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="The directory to write to; it is made if it is not there.",
)
@click.option(
    "--limits",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Limits to pack, a .limits.json; may be given several times.",
)
@inputs.force_option
@terminal.debug_option
def runtime(output: Path, files: tuple[Path, ...], force: bool) -> None:
    """Write a C header that applies limits, and limits as it reads them.

    synovia.h needs libm alone, allocates nothing and may be used by many threads. For each FILE a
    NAME.limits.bin is written, which it loads.
    """
    from ..io import load_limits
    from ..io.files import atomic_write
    from ..io.limits import SUFFIX as LIMITS_SUFFIX
    from ..io.packed_limits import SUFFIX, packed_limits_bytes
    from ..native.runtime import header_text

    made = {output / "synovia.h": header_text().encode()}
    for file in files:
        if not file.name.lower().endswith(LIMITS_SUFFIX):
            raise click.UsageError(
                f"--limits takes a file that ends in {LIMITS_SUFFIX}, got {str(file)!r}"
            )
        model = load_limits(file)
        target = output / (file.name[: -len(LIMITS_SUFFIX)] + SUFFIX)
        if target in made:
            raise ValueError(f"{file}: {target} would be written twice; rename one of the files")
        try:
            made[target] = packed_limits_bytes(model)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
    output.mkdir(parents=True, exist_ok=True)
    for target in made:
        inputs.check_output(target, force=force)
    for target, content in made.items():
        atomic_write(target, content)
        terminal.note(f"wrote {target}, {len(content) / 1e3:.0f} kB")
