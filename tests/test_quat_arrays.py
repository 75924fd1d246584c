"""Quaternions as arrays: shapes, types, and leaving alone what was given."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import BATCHES
from quats import many_quats, random_quats
from synovia import quat

UNIT_X = np.array([1.0, 0.0, 0.0])
VERBS = {
    "mul": (lambda q: quat.mul(q, q), (4,)),
    "inverse": (quat.inverse, (4,)),
    "normalize": (quat.normalize, (4,)),
    "rotate": (lambda q: quat.rotate(q, q[..., 1:]), (3,)),
    "log": (quat.log, (3,)),
    "log_unrolled": (quat.log_unrolled, (3,)),
    "exp": (lambda q: quat.exp(q[..., 1:]), (4,)),
    "between": (lambda q: quat.between(q[..., 1:], q[..., :3]), (4,)),
    "angle_between": (lambda q: quat.angle_between(q, q[..., ::-1]), ()),
    "swing": (lambda q: quat.swing_twist(q, UNIT_X)[0], (4,)),
    "twist": (lambda q: quat.swing_twist(q, UNIT_X)[1], (4,)),
    "from_matrix": (lambda q: quat.from_matrix(quat.to_matrix(q)), (4,)),
    "to_matrix": (quat.to_matrix, (3, 3)),
    "from_6d": (lambda q: quat.from_6d(quat.to_6d(q)), (4,)),
    "to_6d": (quat.to_6d, (6,)),
    "from_euler": (lambda q: quat.from_euler(q[..., 1:], "xyz"), (4,)),
    "to_euler": (lambda q: quat.to_euler(q, "ZXY"), (3,)),
    "to_euler, proper": (lambda q: quat.to_euler(q, "zyz"), (3,)),
    "slerp": (lambda q: quat.slerp(q, q[..., ::-1], np.full(q.shape[:-1], 0.3)), (4,)),
    "unroll": (lambda q: quat.unroll(q[None])[0], (4,)),
}


@pytest.fixture(params=VERBS)
def verb(request):
    return VERBS[request.param]


@pytest.mark.parametrize("batch", BATCHES)
def test_answers_keep_the_batch_shape_and_the_float_type(verb, batch):
    function, tail = verb
    for dtype in (np.float32, np.float64):
        answer = function(random_quats(*batch).astype(dtype))
        assert isinstance(answer, np.ndarray)
        assert answer.shape == (*batch, *tail)
        assert answer.dtype == dtype


def test_float32_answers_are_near_the_float64_ones(verb):
    function, _ = verb
    q = quat.unroll(random_quats(100)).astype(np.float32)
    np.testing.assert_allclose(function(q), function(q.astype(np.float64)), rtol=0, atol=1e-4)


def test_a_batch_is_answered_like_its_items(verb):
    function, _ = verb
    q = quat.unroll(random_quats(6)).reshape(3, 1, 2, 4)
    items = [function(one) for one in q.reshape(-1, 4)]
    answer = function(q)
    found = answer.reshape(6, *answer.shape[3:])
    same = np.abs(found - items) < 1e-15
    if function is VERBS["unroll"][0]:
        same |= np.abs(found + items) < 1e-15
    assert same.all()


def test_nothing_given_is_changed(verb):
    function, _ = verb
    q = many_quats()
    q.flags.writeable = False
    before = q.copy()
    answer = function(q)
    np.testing.assert_array_equal(q, before)
    answer[...] = 9
    np.testing.assert_array_equal(q, before)


def test_leading_axes_broadcast():
    a, b, v = random_quats(3, 1), random_quats(2), np.ones((3, 1, 3))
    assert quat.mul(a, b).shape == (3, 2, 4)
    assert quat.rotate(b, v).shape == (3, 2, 3)
    assert quat.angle_between(a, b).shape == (3, 2)
    assert quat.slerp(a, b, np.zeros((5, 1, 1))).shape == (5, 3, 2, 4)
    assert quat.between(v, np.eye(3)).shape == (3, 3, 4)
    assert [part.shape for part in quat.swing_twist(b, np.ones((3, 1, 3)))] == [(3, 2, 4)] * 2
    assert quat.swing_twist(quat.IDENTITY, np.eye(3))[1].shape == (3, 4)


def test_mean_keeps_float32():
    q = random_quats(9).astype(np.float32)
    assert quat.mean(q, np.ones(9)).dtype == np.float32


def test_float32_with_float64_is_float64_but_lists_follow_the_array():
    q = random_quats(2).astype(np.float32)
    assert quat.mul(q, quat.IDENTITY).dtype == np.float64
    assert quat.rotate(q, [0, 0, 1]).dtype == np.float32
    assert quat.swing_twist(q, UNIT_X)[0].dtype == np.float32
    assert quat.log([1, 0, 0, 0]).dtype == np.float64


def test_plain_numpy_suffices():
    import ast
    from pathlib import Path

    nodes = list(ast.walk(ast.parse(Path(quat.__file__).read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert names == {"__future__", "functools", "numpy", "arrays"}
