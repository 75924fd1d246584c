"""Imports between folders point one way, importing Synovia is light, public code has docstrings."""

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

# A folder (or module) may import only those before it. Add a new folder at its position.
FOLDERS = [
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
# Folders that may import even less.
ONLY = {"kernels": set(), "shapes": {"arrays", "kernels"}, "arrays": set(), "quat": {"arrays"}}
# Packages that only these folders may import at module level.
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


def folder_of(path):
    """Return the folder of a file, or the module in the root; None for __init__ and __main__."""
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


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_point_one_way(folder):
    allowed = ONLY.get(folder, set(FOLDERS[: FOLDERS.index(folder)])) | {folder}
    files = [path for path in FILES if folder_of(path) == folder]
    every = ((path, module) for path in files for module, _ in imports(path))
    for path, module in every:
        if module.split(".")[0] != "synovia":
            continue
        other = module.split(".")[1] if "." in module else None
        if other is None or other.startswith("__"):  # __version__ of the package itself
            continue
        assert other in FOLDERS, f"{other} is a new folder: add it to FOLDERS in this file"
        assert other in allowed, f"{named(path)} imports {module}; {folder} may import {allowed}"


def test_every_file_is_in_a_listed_folder():
    folders = {folder_of(path) for path in FILES} - {None}
    assert folders == set(FOLDERS), "add a new folder to FOLDERS in this file"


def test_heavy_packages_are_imported_in_their_folders_only():
    every = ((path, *each) for path in FILES for each in imports(path))
    for path, module, top in every:
        package = module.split(".")[0]
        if package in HEAVY and top:
            assert folder_of(path) in HEAVY[package], (
                f"{named(path)} imports {module} at module level"
            )


SHAPE_CLASSES = {kind.__name__ for kind in SHAPES.values()} | {"Convex", "Directional", "Polytope"}


def shapes_in(node):
    """Yield the lines of shape classes and names in an expression, except inside calls."""
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
    if name in SHAPE_CLASSES or (isinstance(node, ast.Constant) and node.value in SHAPES):
        yield node.lineno
    if not isinstance(node, ast.Call):
        for part in ast.iter_child_nodes(node):
            yield from shapes_in(part)


def lines_that_test_for_shapes(nodes):
    """Yield the lines that test for a shape's class, or compare its name."""
    for node in nodes:
        called = getattr(node.func, "id", None) if isinstance(node, ast.Call) else None
        if called in ("isinstance", "issubclass"):
            yield from shapes_in(node.args[1])
        elif isinstance(node, ast.MatchClass):
            yield from shapes_in(node.cls)
        elif isinstance(node, ast.Compare):
            for each in (node.left, *node.comparators):
                yield from shapes_in(each)


def test_only_shapes_tests_for_the_class_of_a_shape():
    others = [path for path in FILES if folder_of(path) != "shapes"]
    tested = {named(path): list(lines_that_test_for_shapes(every_node(path))) for path in others}
    assert {path: lines for path, lines in tested.items() if lines} == {}


def test_tests_for_the_class_of_a_shape_are_detected():
    tested = [
        *("isinstance(x, Box | KDop)", "issubclass(kind, shapes.Union)", "type(x) is ReachCone"),
        *("limit.shape.name == 'box'", "shape in ('product', 'other')", "x == DistanceField.name"),
    ]
    assert [
        len(list(lines_that_test_for_shapes(ast.walk(ast.parse(line))))) for line in tested
    ] == [
        2,
        1,
        1,
        1,
        1,
        1,
    ]
    assert (
        list(
            lines_that_test_for_shapes(ast.walk(ast.parse("isinstance(x, Region) and Box(x).low")))
        )
        == []
    )


def test_the_root_has_no_other_modules():
    modules_in_root = {path.stem for path in SOURCE.glob("*.py")}
    modules = {"arrays", "lazy", "processes", "quat", "schema", "text"}
    assert modules_in_root == {"__init__", "__main__", *modules}


def test_imports_are_detected():
    seen = {module for module, _ in imports(SOURCE / "limit" / "limit.py")}
    assert {"synovia.kernels", "synovia.quat", "synovia.charts", "numpy"} <= seen
    assert ("scipy.optimize", False) in set(imports(SOURCE / "components" / "fit.py"))


def test_importing_synovia_is_light():
    heavy = "('numpy', 'scipy', 'click', 'matplotlib', 'websockets')"
    code = f"import synovia, sys, json; print(json.dumps([m for m in {heavy} if m in sys.modules]))"
    assert run(code) == []


def test_importing_limits_is_light():
    code = (
        "import sys, json; from synovia import arrays, quat, charts, shapes, limit; "
        "print(json.dumps([m for m in ('scipy', 'click') if m in sys.modules]))"
    )
    assert run(code) == []


def test_reading_a_clip_loads_no_shapes():
    code = (
        "import sys, json; from synovia import load_clip; from synovia.learn import joint_kinds; "
        "folders = ('charts', 'shapes', 'limit', 'components', 'model'); "
        "print(json.dumps([folder for folder in folders if f'synovia.{folder}' in sys.modules]))"
    )
    assert run(code) == []


def test_applying_and_drawing_limits_needs_no_scipy():
    code = (
        "import sys, json; sys.modules['scipy'] = None; import numpy as np; "
        "from synovia.charts import SwingTwist; from synovia.limit import Limit; "
        "from synovia.shapes import SHAPES; "
        "points = np.random.default_rng(0).normal(size=(50, 3)) / 5; "
        "limits = [Limit(SwingTwist(), kind.fit(points)) for kind in SHAPES.values() "
        "if 'swing-twist' in kind.charts]; "
        "from synovia.shapes.mesh import shape_surface; "
        "surfaces = [shape_surface(limit.region) for limit in limits]; "
        "print(json.dumps([float(limit.distance([0, 1, 0, 0])) > 0 for limit in limits]"
        " + [len(surface.triangles) > 3 for surface in surfaces]))"
    )
    assert all(run(code))


def test_public_names_are_sorted_and_exist():
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
def promised(folder):
    """Return the methods that have a docstring in some class of a folder, such as the base."""
    return {
        name.split(".")[-1]
        for path in FILES
        if folder_of(path) == folder
        for name, node in functions_and_classes(parsed(path).body)
        if "." in name and ast.get_docstring(node)
    }


def test_every_module_has_a_docstring():
    assert [named(path) for path in FILES if not ast.get_docstring(parsed(path))] == []


def test_public_functions_and_classes_have_docstrings():
    for path in (path for path in FILES if folder_of(path) != "kernels"):
        explained = promised(folder_of(path))
        for name, node in functions_and_classes(parsed(path).body):
            parts = name.split(".")
            if any(part.startswith("_") for part in parts):
                continue
            if len(parts) > 1 and parts[-1] in explained:
                continue
            assert ast.get_docstring(node), f"{named(path)}: {name} has no docstring"


def test_subpackages_are_attributes_of_synovia():
    code = (
        "import synovia, json; names = ('ik', 'quat', 'learn', 'evidence', 'draw', 'components'); "
        "print(json.dumps([hasattr(synovia, name) for name in names] + ['ik' in dir(synovia)]))"
    )
    assert all(run(code))
