"""Rooms and their doors: imports point one way, and importing Synovia is light."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import synovia
from synovia.shapes import SHAPES

SOURCE = Path(synovia.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

# A room may import only rooms before it. A new room is one more name here, where it belongs.
ROOMS = [
    *(
        "lazy",
        "text",
        "arrays",
        "schema",
        "quat",
        "processes",
        "kernels",
        "native",
        "charts",
        "shapes",
        "edit",
        "limit",
        "skeleton",
        "rigs",
        "components",
        "learn",
    ),
    *(
        "model",
        "ik",
        "anatomy",
        "body",
        "io",
        "population",
        "repairs",
        "export",
        "corpus",
        "evidence",
        "mesh",
        "draw",
        "demo",
        "torch",
    ),
    *("view", "cli"),
]
# These know even less.
ONLY = {"kernels": set(), "shapes": {"arrays", "kernels"}, "arrays": set(), "quat": {"arrays"}}
# At module level, these packages are for these rooms alone.
HEAVY = {
    "scipy": set(),
    "matplotlib": {"draw"},
    "click": {"cli"},
    "websockets": {"view"},
    "torch": {"torch"},
    "bpy": set(),  # blender/ imports Synovia, never the other way round
}


def named(path):
    return str(path.relative_to(SOURCE))


def room_of(path):
    """The room of a file; the package's own __init__ and __main__ stand above all."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return None if parts[0] in ("__init__", "__main__") else parts[0]


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@cache
def nodes_of(path):
    """Return (node, at module level) of all nodes of a file."""
    found = [(parsed(path), True)]
    for node, top in found:
        top_below = top and not isinstance(node, FUNCTIONS)
        found += [(child, top_below) for child in ast.iter_child_nodes(node)]
    return found


def every_node(path):
    return (node for node, _ in nodes_of(path))


@cache
def imports(path):
    """Return (module, at module level) of every import, relative ones made absolute."""
    package = ["synovia", *path.relative_to(SOURCE).parent.parts]
    found = []
    for node, top in nodes_of(path):
        if isinstance(node, ast.Import):
            found += [(alias.name, top) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names = [alias.name for alias in node.names]
            whole = [f"synovia.{name}" for name in names] if module == "synovia" else [module]
            found += [(each, top) for each in whole]
    return tuple(found)


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_one_way(room):
    allowed = ONLY.get(room, set(ROOMS[: ROOMS.index(room)])) | {room}
    files = [path for path in FILES if room_of(path) == room]
    every = ((path, module) for path in files for module, _ in imports(path))
    for path, module in every:
        if module.split(".")[0] != "synovia":
            continue
        other = module.split(".")[1] if "." in module else None
        if other is None or other.startswith("__"):  # __version__ of the package itself
            continue
        assert other in ROOMS, f"{other} is a new room: add it to ROOMS in this file"
        assert other in allowed, f"{named(path)} imports {module}; {room} may import {allowed}"


def test_every_file_is_in_a_room():
    rooms = {room_of(path) for path in FILES} - {None}
    assert rooms == set(ROOMS), "a new room is one more name in ROOMS in this file"


def test_heavy_packages_stay_in_their_rooms():
    every = ((path, *each) for path in FILES for each in imports(path))
    for path, module, top in every:
        package = module.split(".")[0]
        if package in HEAVY and top:
            assert room_of(path) in HEAVY[package], f"{named(path)} imports {module} at once"


SHAPE_CLASSES = {kind.__name__ for kind in SHAPES.values()} | {"Convex", "Directional", "Polytope"}


def shapes_in(node):
    """Yield the classes and the names of shapes in an expression, calls in it aside."""
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
    if name in SHAPE_CLASSES or (isinstance(node, ast.Constant) and node.value in SHAPES):
        yield node.lineno
    if not isinstance(node, ast.Call):
        for part in ast.iter_child_nodes(node):
            yield from shapes_in(part)


def asks_for_shapes(nodes):
    """Yield the lines that ask for a shape's class, or compare its name."""
    for node in nodes:
        called = getattr(node.func, "id", None) if isinstance(node, ast.Call) else None
        if called in ("isinstance", "issubclass"):
            yield from shapes_in(node.args[1])
        elif isinstance(node, ast.MatchClass):
            yield from shapes_in(node.cls)
        elif isinstance(node, ast.Compare):
            for each in (node.left, *node.comparators):
                yield from shapes_in(each)


def test_nobody_asks_for_the_class_of_a_shape():
    others = [path for path in FILES if room_of(path) != "shapes"]
    asking = {named(path): list(asks_for_shapes(every_node(path))) for path in others}
    assert {path: lines for path, lines in asking.items() if lines} == {}


def test_questions_for_the_class_of_a_shape_are_seen():
    asking = [
        *("isinstance(x, Box | KDop)", "issubclass(kind, shapes.Union)", "type(x) is ReachCone"),
        *("limit.shape.name == 'box'", "shape in ('product', 'other')", "x == DistanceField.name"),
    ]
    assert [len(list(asks_for_shapes(ast.walk(ast.parse(line))))) for line in asking] == [
        2,
        1,
        1,
        1,
        1,
        1,
    ]
    assert list(asks_for_shapes(ast.walk(ast.parse("isinstance(x, Region) and Box(x).low")))) == []


def test_the_root_holds_the_vocabulary_alone():
    """And what is needed before NumPy is imported."""
    loose = {path.stem for path in SOURCE.glob("*.py")}
    modules = {"arrays", "lazy", "processes", "quat", "schema", "text"}
    assert loose == {"__init__", "__main__", *modules}


def test_the_import_check_sees_imports():
    seen = {module for module, _ in imports(SOURCE / "limit" / "limit.py")}
    assert {"synovia.kernels", "synovia.quat", "synovia.charts", "numpy"} <= seen
    assert ("scipy.spatial", False) in set(imports(SOURCE / "shapes" / "convex.py"))


def test_importing_synovia_is_light():
    heavy = "('numpy', 'scipy', 'click', 'matplotlib', 'websockets')"
    code = f"import synovia, sys, json; print(json.dumps([m for m in {heavy} if m in sys.modules]))"
    assert run(code) == []


def test_loading_the_rooms_of_limits_is_light():
    code = (
        "import sys, json; from synovia import arrays, quat, charts, shapes, limit; "
        "print(json.dumps([m for m in ('scipy', 'click') if m in sys.modules]))"
    )
    assert run(code) == []


def test_reading_a_clip_loads_no_shapes():
    code = (
        "import sys, json; from synovia import load_clip; from synovia.learn import joint_kinds; "
        "rooms = ('charts', 'shapes', 'limit', 'components', 'model'); "
        "print(json.dumps([room for room in rooms if f'synovia.{room}' in sys.modules]))"
    )
    assert run(code) == []


def test_applying_a_limit_needs_no_scipy():
    code = (
        "import sys, json; sys.modules['scipy'] = None; import numpy as np; "
        "from synovia.charts import SwingTwist; from synovia.limit import Limit; "
        "from synovia.shapes import SHAPES; "
        "points = np.random.default_rng(0).normal(size=(50, 3)) / 5; "
        "limits = [Limit(SwingTwist(), kind.fit(points)) for kind in SHAPES.values() "
        "if 'swing-twist' in kind.charts]; "
        "print(json.dumps([float(limit.distance([0, 1, 0, 0])) > 0 for limit in limits]))"
    )
    assert all(run(code))


def test_public_names_are_sorted_and_there():
    def constants_then_classes_then_functions(name):
        return (not name.isupper(), not name[0].isupper(), name)

    names = list(synovia.__all__)
    assert names == sorted(names, key=constants_then_classes_then_functions)
    assert len(set(names)) == len(names)
    missing = [name for name in names if not hasattr(synovia, name)]
    assert missing == []
    modules = {path.stem for path in SOURCE.glob("*.py")} | {
        path.name for path in SOURCE.iterdir() if path.is_dir()
    }
    public = {name for name in vars(synovia) if not name.startswith("_")}
    assert public - modules - {"annotations"} <= set(names)


def functions_and_classes(body, inside=""):
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield inside + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from functions_and_classes(node.body, f"{inside}{node.name}.")


@cache
def promised(room):
    """Names of methods that one class of a room explains for all: a protocol's, or a base's."""
    return {
        name.split(".")[-1]
        for path in FILES
        if room_of(path) == room
        for name, node in functions_and_classes(parsed(path).body)
        if "." in name and ast.get_docstring(node)
    }


def test_every_file_says_what_it_is_for():
    assert [named(path) for path in FILES if not ast.get_docstring(parsed(path))] == []


def test_what_is_public_has_a_docstring():
    for path in (path for path in FILES if room_of(path) != "kernels"):
        explained = promised(room_of(path))
        for name, node in functions_and_classes(parsed(path).body):
            parts = name.split(".")
            if any(part.startswith("_") for part in parts):
                continue
            if len(parts) > 1 and parts[-1] in explained:
                continue
            assert ast.get_docstring(node), f"{named(path)}: {name} has no docstring"


def test_rooms_need_no_import_of_their_own():
    code = (
        "import synovia, json; rooms = ('ik', 'quat', 'learn', 'evidence', 'draw', 'components'); "
        "print(json.dumps([hasattr(synovia, room) for room in rooms] + ['ik' in dir(synovia)]))"
    )
    assert all(run(code))
