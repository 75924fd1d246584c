"""Damaged files of every format: what is read is whole, and every error names its place."""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from clips import clip
from gltfs import FRAMES, TIMES, glb, split, walking
from limits_files import SCHEMA, SKELETON, assert_same, sample, small
from mutations import COUNT, flip, mutate, mutate_values
from oracles import fitted, placed
from synovia import Clip, LimitModel, load_clip, load_limits, quat, save_clip, save_limits
from synovia.io import list_clips
from synovia.io.limits import FILES, LimitsFile
from synovia.limit import Limit
from synovia.schema import DecodeError, decode
from test_asf import ASF, amc_text
from test_bvh import ROWS, SMALL
from test_bvh import small as small_bvh
from test_gltf_read import HUMANOIDS
from test_smpl import archive, arrays
from test_table import every_field


def damaged_bvh(folder, rng):
    seeds = [
        SMALL,
        SMALL.replace("\n", "\r\n").replace("\n{", " {"),
        small_bvh((ROWS, ROWS.replace(" 30", "\n30").replace(" 90", "\n90"))),
        small_bvh(("CHANNELS 3 Zrotation Xrotation Yrotation", "CHANNELS 0"), (ROWS, "")),
    ]
    for number in range(COUNT):
        yield {"a.bvh": mutate(seeds[number % 4].encode(), rng)}


def damaged_asf(folder, rng):
    asf, amc = ASF.encode(), amc_text().encode()
    for number in range(COUNT):
        changed = (mutate(amc, rng), asf) if number % 2 else (amc, mutate(asf, rng))
        yield dict(zip(("a.amc", "a.asf"), changed, strict=True))


def damaged_tables(folder, rng):
    for number, made in enumerate((every_field(), clip(frames=4))):
        save_clip(made, folder / f"seed{number}.motion.csv")
    seeds = [(folder / f"seed{number}.motion.csv").read_bytes() for number in (0, 1)]
    for number in range(COUNT):
        yield {"a.motion.csv": mutate(seeds[number % 2], rng)}


def damaged_archives(folder, rng):
    np.savez_compressed(folder / "seed", **arrays(24, frames=3))
    content = (folder / "seed.npz").read_bytes()
    with zipfile.ZipFile(folder / "seed.npz") as file:
        members = {name.removesuffix(".npy"): file.read(name) for name in file.namelist()}
    for number in range(COUNT):
        key, change = list(members)[int(rng.integers(3))], (mutate, flip)[number % 2]
        if number % 3 == 0:
            yield {"a.npz": change(content, rng)}
        else:  # inside of the archive, where checksums do not help
            yield {"a.npz": archive({**members, key: change(members[key], rng)})}


def damaged_gltf(folder, rng):
    made = walking()
    made.root["extensions"] = {name: {"humanoid": each} for name, each in HUMANOIDS.items()}
    made.channel(made.root["animations"][1], 2, "scale", TIMES, np.ones((FRAMES, 3)))
    root, data = split(made.glb())
    inside = json.loads(made.gltf())
    for number in range(COUNT):
        if number % 4 == 3:
            yield {"a.gltf": json.dumps(mutate_values(inside, rng)).encode()}
        elif number % 2:
            text = json.dumps(mutate_values(root, rng)).encode()
            yield {"a.glb": glb(text, (b"BIN\0", data))}
        else:
            yield {"a.glb": mutate(made.glb(), rng)}


def seeds_of_limits(folder):
    """Return the text of three small files."""
    limits = {
        "knee": Limit(placed("swing-twist"), fitted("kdop", "plane")),
        "left foot": Limit(placed("rotation-vector"), fitted("ellipsoid", "round")),
        "hip": Limit(placed("swing-twist"), fitted("product kdop", "round")),
    }
    large = LimitModel({}, SKELETON, {"a": [{}]}, {"hip": (sample(65),)})
    for model in (small(), LimitModel(limits, SKELETON), large):
        save_limits(model, folder / "seed.limits.json")
        yield (folder / "seed.limits.json").read_bytes()


def damaged_limits(folder, rng):
    texts = list(seeds_of_limits(folder))
    for number in range(COUNT):
        text = texts[number % 3]
        changed = json.dumps(mutate_values(json.loads(text), rng)).encode()
        yield {"a.limits.json": mutate(text, rng) if number % 2 else changed}


LINE = r"/a\.\w+:\d+: .*, got |/a\.\w+: (expected positions|offsets of) "
DAMAGED = {
    "bvh": (damaged_bvh, LINE),
    "asf": (damaged_asf, LINE),
    "csv": (damaged_tables, r"/a\.motion\.csv"),
    "npz": (damaged_archives, r"/a\.npz"),
    "gltf": (damaged_gltf, r"/[ab]\.gl(b|tf):|Errno.*/"),
    "limits": (damaged_limits, r"^/.*/a\.limits\.json"),
}
"""By format: what makes damaged files, and how errors name the place."""


def read_and_write(path, number):
    """Read a file, and write what can be written, which must be the same or readable again."""
    again = path.with_name(path.name.replace("a.", "b."))
    if path.name == "a.limits.json":
        model = load_limits(path)
        save_limits(model, again)
        assert_same(model, load_limits(again))
        return
    name = list_clips(path)[number % len(list_clips(path))]
    made = load_clip(f"{path}#{name}" if name else path)
    assert isinstance(made, Clip)
    if path.suffix in (".glb", ".gltf"):
        rotations, joint = np.array(made.pose.rotations), number % len(made.skeleton)
        rotations[:, joint] = quat.mul(quat.exp([0.0, 0.3, 0.1]), rotations[:, joint])
        save_clip(replace(made, pose=made.pose.with_rotations(rotations)), again)
        load_clip(f"{again}#{name}" if name else again)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_read_whole_or_refused_with_their_place(name, tmp_path):
    damaged, place = DAMAGED[name]
    loaded, errors = 0, []
    for number, files in enumerate(damaged(tmp_path, np.random.default_rng(17))):
        for each, content in files.items():
            (tmp_path / each).write_bytes(content)
        try:
            read_and_write(tmp_path / next(iter(files)), number)
            loaded += 1
        except (ValueError, OSError) as error:
            errors.append(str(error))
    assert [error for error in errors if not re.search(place, error) or len(error) > 2000] == []
    assert min(loaded, len(errors)) > COUNT // 20


# What JSON Schema cannot say: sizes that agree, bytes, and 1.0, which it takes for an integer.
BEYOND_SCHEMA = re.compile(r"\d (whole )?numbers|rows of|finite|64 bits|base64|bytes|zlib|shape")


def decode_error(document):
    """Return the error of decoding a document; None if there is none."""
    try:
        decode(LimitsFile, document, FILES)
    except DecodeError as error:
        return error
    return None


def test_the_schema_accepts_what_the_decoder_accepts(tmp_path):
    rng = np.random.default_rng(9)
    documents = [json.loads(text) for text in seeds_of_limits(tmp_path)]
    accepted = refused = 0
    for _ in range(COUNT):
        document = mutate_values(documents[int(rng.integers(len(documents)))], rng)
        error = decode_error(document)
        if error is None:
            SCHEMA.validate(document)
            accepted += 1
        elif error.__cause__ is None and not BEYOND_SCHEMA.search(error.message):
            assert not SCHEMA.is_valid(document), error
            refused += 1
    assert min(accepted, refused) > COUNT // 20
