"""Limits in PyTorch: the values of NumPy, correct gradients, and a loss that ends legal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from families import LIMITS
from oracles import random_quats
from synovia import LimitModel, quat
from synovia.model import without_limbs
from synovia.skeleton import Skeleton

torch = pytest.importorskip("torch", reason="PyTorch is not installed: `make test-torch`")

from synovia.torch import FORMS, LimitLoss, distance, human, project, quaternions, rotate  # noqa: E402

ROOT = Path(__file__).parent.parent


@pytest.fixture(params=LIMITS, ids=" in ".join)
def limit(request):
    return LIMITS[request.param]()


@pytest.fixture(scope="module")
def smpl():
    return human("smpl")


def tensor(rotations, kind=torch.float64):
    return torch.tensor(rotations, dtype=kind)


def smooth(limit, rotations, step=1e-4):
    """Return the rotations near which neither distance nor projection is steep or has a kink."""
    near = [quat.mul(rotations, quat.exp(step * v)) for v in np.vstack([np.eye(3), -np.eye(3)])]
    slopes = np.stack([limit.distance_and_gradient(q)[1] for q in near])
    moved = np.stack([limit.project(q) for q in near]) - limit.project(rotations)
    rises = np.stack([limit.distance(q) for q in near]) - limit.distance(rotations)
    calm = (np.ptp(slopes, axis=0).max(axis=-1) < 1e-2) & (np.abs(moved).max((0, 2)) < 4 * step)
    calm &= np.abs(rises).max(axis=0) < 4 * step
    return rotations[calm]


def test_answers_are_those_of_the_kernels(limit):
    rotations = random_quats(200, np.random.default_rng(0)).reshape(4, 50, 4)
    for kind, off in ((torch.float64, 1e-9), (torch.float32, 1e-4)):
        given = tensor(rotations, kind)
        distances, projected = distance(limit, given), project(limit, given)
        assert distances.dtype == projected.dtype == kind
        assert np.abs(distances.numpy() - limit.distance(rotations)).max() < off
        apart = np.minimum(
            np.abs(projected.numpy() - limit.project(rotations)).max(-1),
            np.abs(projected.numpy() + limit.project(rotations)).max(-1),
        )
        assert (
            np.quantile(apart, 0.98) < off
        )  # of two that tie, single precision may take the other
    legal = limit.project(rotations)
    assert np.array_equal(project(limit, tensor(legal)).numpy(), legal)


def test_gradients_pass_gradcheck(limit):
    rotations = smooth(limit, random_quats(60, np.random.default_rng(2)))[:12]
    assert len(rotations) == 12
    given = tensor(rotations).requires_grad_()
    assert torch.autograd.gradcheck(lambda q: distance(limit, q), given, atol=1e-5)
    assert torch.autograd.gradcheck(lambda q: project(limit, q), given, atol=1e-4, eps=1e-5)


def in_form(rotations, form):
    """The rotations in a form, not unit where that may be."""
    if form == "quaternion":
        return 1.7 * rotations
    if form == "rotation-vector":
        return quat.log(rotations)
    if form == "matrix":
        return quat.to_matrix(rotations)
    columns = quat.to_6d(rotations)
    columns[:, 3:] += 0.4 * columns[:, :3]
    return columns * np.repeat([1.3, 0.8], 3)


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_rotations(form):
    rotations = random_quats(50, np.random.default_rng(4))
    rotations[0], rotations[1:4] = quat.IDENTITY, np.eye(4)[1:]
    values = tensor(in_form(rotations, form)).requires_grad_()
    made = quaternions(values, form)
    assert np.abs(np.sum(made.detach().numpy() * rotations, axis=-1)).min() > 1.0 - 1e-12
    made.square().sum().backward()
    assert torch.isfinite(values.grad).all()
    with pytest.raises(ValueError, match=re.escape(f"rotations of the form {form}")):
        quaternions(torch.zeros(5, 2), form)
    with pytest.raises(ValueError, match="form must be one of"):
        quaternions(values, "euler")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("family", [("kdop", "swing-twist"), ("reach-cone", "direction-twist")])
def test_one_kernel_has_the_gradient_by_any_form(form, family):
    limit = LIMITS[family]()
    rotations = smooth(limit, random_quats(60, np.random.default_rng(3)))[:12]
    given = tensor(in_form(rotations, form)).requires_grad_()
    found = distance(limit, given, form=form)
    assert np.abs(found.detach().numpy() - limit.distance(rotations)).max() < 1e-9
    assert torch.autograd.gradcheck(lambda v: distance(limit, v, form=form), given, atol=1e-5)
    found.sum().backward()
    plain = given.detach().clone().requires_grad_()
    distance(limit, quaternions(plain, form)).sum().backward()
    assert torch.allclose(given.grad, plain.grad, atol=1e-6)
    single = given.detach().float().requires_grad_()
    distance(limit, single, form=form).sum().backward()
    assert (single.grad - plain.grad).abs().median() < 1e-3


def test_a_backward_pass_may_run_again_with_weights():
    limit = LIMITS["kdop", "rotation-vector"]()
    given = tensor(random_quats(50, np.random.default_rng(6)).reshape(5, 10, 4)).requires_grad_()
    weights = torch.linspace(-1.0, 2.0, 50, dtype=torch.float64).reshape(5, 10)
    found, slopes = distance(limit, given), limit.distance_and_gradient(given.detach().numpy())[1]
    for factor in (weights, weights, torch.tensor(0.5), torch.tensor(1.0)):
        given.grad = None
        (factor * found).sum().backward(retain_graph=True)
        expected = factor[..., None].numpy() * slopes
        assert np.abs(given.grad.numpy() - expected).max() < 1e-12


@pytest.mark.parametrize("form", FORMS)
def test_the_loss_of_a_kernel_has_the_gradient_of_its_sums(smpl, form):
    rotations = random_quats(24 * 5, np.random.default_rng(9))
    shape = {"matrix": (5, 24, 3, 3)}.get(form, (5, 24, -1))
    poses = tensor(in_form(rotations, form)).reshape(shape)
    loss = LimitLoss(smpl, margin=0.05, form=form)
    one, other = poses.clone().requires_grad_(), poses.clone().requires_grad_()
    (3.0 * loss(one)).backward()
    outside = torch.relu(loss.distances(other) + 0.05).square().sum(-1).mean()
    (3.0 * outside).backward()
    assert abs(loss(one).item() - outside.item()) < 1e-9
    off = (one.grad - other.grad).abs()
    assert off.median() < 1e-9
    assert torch.quantile(off.flatten(), 0.97) < 1e-5  # at kinks either side is right


def test_vectors_are_rotated():
    rotations, vectors = random_quats(20, np.random.default_rng(6)), np.ones((20, 3))
    turned = rotate(tensor(rotations), tensor(vectors)).numpy()
    assert np.allclose(turned, quat.rotate(rotations, vectors))


def test_the_loss_of_a_model_is_the_sum_over_its_joints(smpl):
    rotations = random_quats(24 * 6, np.random.default_rng(7)).reshape(6, 24, 4)
    loss = LimitLoss(smpl, margin=0.1)
    from synovia import Pose

    pose = Pose(rotations, np.tile(smpl.skeleton.offsets, (6, 1, 1)))
    indices = [smpl.skeleton.index(name) for name in loss.limited]
    expected = without_limbs(smpl).distance(pose)[:, indices]
    assert np.abs(loss.distances(tensor(rotations)).numpy() - expected).max() < 1e-9
    cost = np.square(np.maximum(expected + 0.1, 0.0)).sum(-1).mean()
    assert abs(loss(tensor(rotations)).item() - cost) < 1e-9


def test_descent_along_the_loss_ends_legal(smpl):
    poses = 0.5 * torch.randn(8, 24, 3, generator=torch.manual_seed(0), dtype=torch.float64)
    poses.requires_grad_()
    loss = LimitLoss(smpl, margin=0.02, form="rotation-vector")
    assert (loss.distances(poses) > 0.0).any()
    descent = torch.optim.Adam([poses], lr=0.05)
    for _ in range(100):
        descent.zero_grad()
        loss(poses).backward()
        descent.step()
    assert (loss.distances(poses) <= 1e-9).all()


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # PyTorch's
def test_compiled_is_the_same(smpl):
    limit, loss = LIMITS["kdop", "swing-twist"](), LimitLoss(smpl, form="rotation-vector")
    rotations = tensor(random_quats(12, np.random.default_rng(5)))
    poses = torch.randn(4, 24, 3, generator=torch.manual_seed(1), dtype=torch.float64)
    cases = [
        (lambda q: distance(limit, q).sum(), rotations),
        (lambda q: project(limit, q).sum(), rotations),
        (loss, poses),
    ]
    for function, values in cases:
        plain, same = values.clone().requires_grad_(), values.clone().requires_grad_()
        function(plain).backward()
        torch.compile(function, fullgraph=True, backend="aot_eager")(same).backward()
        assert torch.allclose(plain.grad, same.grad)


def test_bad_input_is_named(smpl, limit):
    with pytest.raises(
        ValueError, match=r"of shape \(\.\.\., 24, 4\), got torch.float32 \(3, 22, 4\)"
    ):
        LimitLoss(smpl)(torch.zeros(3, 22, 4))
    with pytest.raises(ValueError, match="no joint nose"):
        LimitLoss(smpl, ["left_knee", "nose"])
    with pytest.raises(ValueError, match="left_shoulder is measured from spine3: joints must have"):
        LimitLoss(smpl, ["left_shoulder"])
    with pytest.raises(ValueError, match="none of the joints has a limit"):
        LimitLoss(LimitModel({}, Skeleton(["a"], [-1], [[0, 0, 0]])))
    with pytest.raises(ValueError, match="margin must be at least 0"):
        LimitLoss(smpl, margin=-1.0)
    with pytest.raises(ValueError, match="body must be one of smpl"):
        human("star")


def test_second_derivatives_are_refused(limit):
    given = tensor(random_quats(3, np.random.default_rng(8))).requires_grad_()
    for verb in (distance, project):
        (slope,) = torch.autograd.grad(verb(limit, given).sum(), given, create_graph=True)
        with pytest.raises(RuntimeError, match="first derivatives only"):
            slope.sum().backward()
    with pytest.raises(RuntimeError, match="first derivatives only"):
        torch.func.jacrev(torch.func.grad(lambda q: distance(limit, q).sum()))(given.detach())


def test_transforms_of_functions_are_taken(smpl):
    limit, func = LIMITS["kdop", "swing-twist"](), torch.func
    rotations = random_quats(12, np.random.default_rng(5))
    given, (distances, slopes) = tensor(rotations), limit.distance_and_gradient(rotations)
    each = func.vmap(func.grad_and_value(lambda q: distance(limit, q)))(given)
    assert np.abs(each[0].numpy() - slopes).max() < 1e-12
    assert np.abs(each[1].numpy() - distances).max() < 1e-12
    whole = func.jacrev(lambda q: distance(limit, q))(given)
    assert np.abs(whole.diagonal().numpy().T - slopes).max() < 1e-12
    turned = func.vmap(func.jacrev(lambda q: project(limit, q)))(given)
    one = given[0].clone().requires_grad_()
    project(limit, one)[2].backward()
    assert torch.allclose(turned[0, 2], one.grad)
    poses = tensor(random_quats(48, np.random.default_rng(6))).reshape(2, 24, 4)
    loss = LimitLoss(smpl)
    assert torch.allclose(func.vmap(loss)(poses).mean(), loss(poses))
    plain = poses.clone().requires_grad_()
    loss(plain).backward()
    off = (func.grad(loss)(poses) - plain.grad).abs()
    assert torch.quantile(off.flatten(), 0.97) < 1e-5  # at kinks either side is right


@pytest.mark.parametrize(
    "example", sorted((ROOT / "examples/torch").glob("*.py")), ids=lambda p: p.stem
)
def test_the_example_runs(example, tmp_path):
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", str(example)]
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    without, with_limits = (
        float(re.findall(r"[\d.]+", line)[-1]) for line in done.stdout.splitlines()
    )
    assert with_limits < 0.3 * without


def test_the_usual_costs_as_much_as_its_weight(smpl):
    rng = np.random.default_rng(3)
    poses = tensor(0.8 * rng.normal(size=(20, 24, 3)))
    possible, usual = (
        LimitLoss(each, form="rotation-vector")(poses) for each in (smpl, smpl.usual)
    )
    assert 0.0 < possible < usual
    both = LimitLoss(smpl, form="rotation-vector", usual_weight=0.1)(poses)
    assert both.item() == pytest.approx((possible + 0.1 * usual).item())
    with pytest.raises(ValueError, match="usual_weight needs a model with usual limits"):
        LimitLoss(smpl.usual, usual_weight=0.1)
