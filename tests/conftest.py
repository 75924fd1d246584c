"""Fixtures that files of tests share, as each shape, fitted to each cloud of data."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from command_line import studio
from cones import CONES
from limits_files import small
from oracles import (
    FEW_CASES,
    FEW_CLOUDS,
    FEW_SEEN,
    IN_HINGES,
    THICK,
    VECTORS,
    fitted,
    placed,
    queries,
    random_quats,
)
from synovia.io import save_limits
from synovia.limit import Limit

# Every run tries the same examples, however long each takes.
settings.register_profile(
    "synovia", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("synovia")


@pytest.fixture(scope="session")
def browser():
    """One for all files, as it takes two seconds to start."""
    from view.browser import browser as running

    with running() as started:
        yield started


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture(params=FEW_CASES)
def case(request):
    return request.param


@pytest.fixture(params=FEW_CLOUDS)
def kind(request):
    return request.param


@pytest.fixture
def shape(case, kind):
    return fitted(case, kind)


@pytest.fixture(params=THICK)
def thick(case, request):
    return fitted(case, request.param)


@pytest.fixture
def points(shape):
    return queries(shape)


@pytest.fixture(params=VECTORS)
def chart(request):
    return placed(request.param)


@pytest.fixture(params=FEW_SEEN + IN_HINGES, ids=" in ".join)
def limit(request, kind):
    case, chart = request.param
    return Limit(placed(chart), fitted(case, kind))


@pytest.fixture
def rotations(limit, rng):
    """Some legal, some all over, with both signs."""
    legal = limit.chart.rotations(limit.shape.scatter(200, rng))
    signs = rng.choice([-1.0, 1.0], size=(200, 1))
    rotations = np.concatenate([random_quats(400, rng), signs * legal])
    rotations.flags.writeable = False
    return rotations


@pytest.fixture(params=CONES)
def cone(request):
    return CONES[request.param]()


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """The text of a limits file as it should be."""
    path = tmp_path_factory.mktemp("limits") / "a.limits.json"
    save_limits(small(), path)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return studio(tmp_path_factory.mktemp("studio"))


@pytest.fixture
def here(made, monkeypatch):
    """The studio, as the directory that the user is in; not to be written to."""
    monkeypatch.chdir(made)
    return made


LONGEST = (
    "test_page_families.py",
    "test_corpus.py",
    "test_page_look.py",
    "test_page_cones.py",
    "test_page_pose.py",
    "test_page_files.py",
    "test_page_evidence.py",
    "test_new_shape.py",
    "test_examples.py",
    "test_runtime.py",
    "test_page_exchange.py",
    "test_page_try.py",
    "test_demo.py",
    "test_fit_figure.py",
    "test_new_shape_pictures.py",
    "test_distance_field.py",
    "test_contract.py",
    "test_native.py",
    "test_evidence.py",
    "test_draw.py",
    "test_page_use.py",
    "test_plates.py",
    "test_body.py",
)


def pytest_collection_finish():
    """Ten thousand tests stay until the end: the garbage collector need not look at them again."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items):
    """The files that take longest come first, so that no processor waits for another at the end."""
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))
    for item in items:
        if "browser" in item.fixturenames:
            # On a busy machine one of hundreds may come too late; the report names it as run again.
            item.add_marker(pytest.mark.flaky(reruns=1))
