"""Limits by operations of PyTorch, as on a graphics card: here on the processor, by force."""

from __future__ import annotations

import numpy as np
import pytest

from families import LIMITS
from oracles import random_quats
from synovia import (
    Box,
    Ellipsoid,
    Hinges,
    KDop,
    Limit,
    LimitModel,
    RotationVector,
    SwingTwist,
    quat,
)
from synovia.shapes import SHAPES, Product
from synovia.skeleton import Skeleton

torch = pytest.importorskip("torch", reason="PyTorch is not installed: `make test-torch`")

from synovia.torch import LimitLoss, devices, distance, project  # noqa: E402

TRAVEL = {"reach-cone", "theta-phi", "distance-field", "union"}
CUBE = np.eye(3)
TURNED = quat.exp(np.array([0.3, -0.5, 0.2]))
RNG = np.random.default_rng(3)
CLOUD = RNG.normal(size=(60, 3)) * [0.8, 0.4, 0.2]
SKEW = Hinges(TURNED, [[1, 0, 0], [0.5, 1, 0], [0, 0.3, 1]])
FLAT_EULER = Hinges(TURNED, [[1, 0, 0], [0, 1, 0], [1, 0, 0]])
ODD = {
    "wider than a turn": Limit(RotationVector(TURNED), Box([-1, -9, -1], [4, 2, 1], CUBE)),
    "a point": Limit(RotationVector(TURNED), Box([0.2] * 3, [0.2] * 3, CUBE)),
    "a flat k-DOP": Limit(RotationVector(frame=TURNED), KDop.fit(CLOUD * [1, 1, 0], along="chart")),
    "a k-DOP of a point": Limit(RotationVector(), KDop.fit(CLOUD[:1], along="chart")),
    "many axes": Limit(RotationVector(), KDop.fit(CLOUD, axes=RNG.normal(size=(50, 3)))),
    "flat ellipsoid": Limit(RotationVector(TURNED), Ellipsoid([0.1] * 3, [1, 0.5, 0], CUBE)),
    "thin ellipsoid": Limit(RotationVector(), Ellipsoid([0, 0, 0], [3, 1e-3, 1e-4], CUBE)),
    "line": Limit(SwingTwist(TURNED, axis=[0.6, 0, 0.8]), Ellipsoid([0, 0, 0], [0, 0, 1], CUBE)),
    "twist of more than a turn": Limit(
        SwingTwist(axis=[0, 1, 0], frame=TURNED),
        Product(Box([-1] * 2, [0.5] * 2, np.eye(2)), -1, 7),
    ),
    "swing of a k-DOP": Limit(SwingTwist(), Product(KDop.fit(CLOUD[:, :2]), -0.2, 0.4)),
    "skew hinges": Limit(SKEW, Box([-1, -0.5, 0], [1, 0.7, 2], CUBE)),
    "hinges and lock": Limit(FLAT_EULER, KDop.fit(CLOUD, along="chart")),
}
ALL = {" in ".join(names): made for names, made in LIMITS.items() if names[0] not in TRAVEL}
ALL |= {name: (lambda limit=limit: limit) for name, limit in ODD.items()}


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch):
    """The processor is taken for a device on which no kernel runs."""
    monkeypatch.setattr(devices, "on_processor", lambda values: False)


@pytest.fixture(params=ALL)
def limit(request):
    return ALL[request.param]()


def special_rotations(limit):
    """The reference, half turns from it, the opposite of the axis, gimbal lock, and near them."""
    vectors = np.concatenate([np.zeros((1, 3)), np.pi * CUBE, 1e-9 * CUBE, (np.pi - 1e-9) * CUBE])
    locks = getattr(limit.chart, "lock", 0.0) + np.array([0.0, 1e-8, np.pi])
    angles = np.stack([0.3 + 0.0 * locks, locks, 0.0 * locks], axis=-1)
    rotations = quat.mul(limit.chart.reference, quat.exp(vectors))
    if limit.chart.name == "hinges":
        rotations = np.concatenate([rotations, limit.chart.rotations(angles)])
    return rotations


def apart(one, other):
    """How far quaternions are apart, of whichever sign."""
    return np.minimum(np.abs(one - other).max(-1), np.abs(one + other).max(-1))


def test_answers_are_those_of_the_kernels(limit):
    rotations = random_quats(200, np.random.default_rng(0)).reshape(4, 50, 4)
    expected, slopes = limit.distance_and_gradient(rotations)
    for kind, off in ((torch.float64, 1e-9), (torch.float32, 1e-4)):
        given = torch.tensor(1.5 * rotations, dtype=kind, requires_grad=True)
        found = distance(limit, given)
        assert found.dtype == kind
        assert np.abs(found.detach().numpy() - expected).max() < off
        found.sum().backward()
        # Where two are equally near, and by differences, others are right too.
        wrong = np.abs(1.5 * given.grad.numpy() - slopes).max(-1)
        assert np.quantile(wrong, 0.97) < max(off, 1e-6)
        projected = project(limit, torch.tensor(rotations, dtype=kind)).numpy()
        assert np.quantile(apart(projected, limit.project(rotations)), 0.97) < off
    legal = limit.project(rotations)
    assert np.array_equal(project(limit, torch.tensor(legal)).numpy(), legal)
    for batch in ((), (0,)):
        assert distance(limit, torch.ones(*batch, 4)).shape == batch
        assert project(limit, torch.ones(*batch, 4)).shape == (*batch, 4)


def test_gradients_are_finite_where_charts_are_singular(limit):
    rotations = special_rotations(limit)
    points = limit.chart.points(rotations)
    # Opposite the axis, rounding decides about the twist.
    known = np.linalg.norm(points[:, list(limit.chart.winds)[:2]], axis=-1) < np.pi - 1e-3
    for kind, off in ((torch.float64, 1e-8), (torch.float32, 1e-4)):
        given = torch.tensor(rotations, dtype=kind, requires_grad=True)
        found = distance(limit, given)
        found.sum().backward()
        wrong = np.abs(found.detach().numpy() - limit.distance(rotations))
        assert wrong[known].max() < off
        assert torch.isfinite(found).all()
        assert torch.isfinite(given.grad).all()


@pytest.mark.parametrize("name", [name for name in ALL if " in " in name])
def test_gradients_pass_gradcheck(name):
    limit = ALL[name]()
    rotations = random_quats(20, np.random.default_rng(2))
    near = [quat.mul(rotations, quat.exp(1e-4 * v)) for v in np.vstack([CUBE, -CUBE])]
    slopes = np.stack([limit.distance_and_gradient(q)[1] for q in near])
    calm = rotations[np.ptp(slopes, axis=0).max(axis=-1) < 1e-2][:4]
    given = torch.tensor(calm, requires_grad=True)
    assert torch.autograd.gradcheck(lambda q: distance(limit, q), given, atol=1e-5)


def test_a_shape_without_operations_is_refused_by_name():
    limits = {shape: LIMITS[shape, chart]() for shape, chart in LIMITS}
    assert set(limits) == set(SHAPES)
    for name, limit in limits.items():
        if name not in TRAVEL:
            assert devices.has_form(limit)
            continue
        with pytest.raises(ValueError, match=f"a {name} has no form in operations of PyTorch"):
            limit.shape.torch_nearest(torch.zeros(1, limit.shape.dimension))
        rotations = random_quats(5, np.random.default_rng(1))
        with pytest.warns(UserWarning, match=f"a {name} in .* has no operations on cpu"):
            found = distance(limit, torch.tensor(rotations))
        assert np.abs(found.numpy() - limit.distance(rotations)).max() < 1e-12


def test_the_loss_is_that_of_the_kernels(monkeypatch):
    skeleton = Skeleton(["a", "b", "c"], [-1, 0, 1], np.eye(3))
    limits = {"b": LIMITS["kdop", "rotation-vector"](), "c": LIMITS["product", "swing-twist"]()}
    loss = LimitLoss(LimitModel(limits, skeleton), margin=0.1, form="rotation-vector")
    poses = torch.randn(6, 3, 3, generator=torch.manual_seed(0), dtype=torch.float64)
    here, there = poses.clone().requires_grad_(), poses.clone().requires_grad_()
    loss(there).backward()
    monkeypatch.undo()
    loss(here).backward()
    assert torch.allclose(here.grad, there.grad, atol=1e-9)
    assert here.grad.abs().max() > 0.1


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # PyTorch's
def test_transforms_and_compilers_take_it():
    limit, func = LIMITS["kdop", "hinges"](), torch.func
    rotations = random_quats(8, np.random.default_rng(5))
    slopes, given = limit.distance_and_gradient(rotations)[1], torch.tensor(rotations)
    each = func.vmap(func.grad(lambda q: distance(limit, q)))(given)
    assert np.abs(each.numpy() - slopes).max() < 1e-9
    compiled = torch.compile(
        lambda q: distance(limit, q).sum(), fullgraph=True, backend="aot_eager"
    )
    given.requires_grad_()
    compiled(given).backward()
    assert np.abs(given.grad.numpy() - slopes).max() < 1e-9
