"""Tables fitted to samples, and what more evidence changes."""

from __future__ import annotations

import numpy as np
import pytest

from synovia import ThetaPhi
from synovia.edit import add
from synovia.shapes.theta_phi.grid import areas
from tables import ONE_TURN, cloud, directions, table

# Fits.


@pytest.mark.parametrize("n", [1, 2, 5000])
@pytest.mark.parametrize("cell", [np.radians(5.0), np.radians(11.0)])
@pytest.mark.parametrize("spread", [1e-6, 0.5, 5.0])
def test_a_fit_contains_every_sample(n, cell, spread, rng):
    points = cloud(n, rng, spread)
    for options in ({}, {"holes": "open"}):
        shape = ThetaPhi.fit(points, cell=cell, **options)
        assert shape.contains(points).all()
        assert shape.contains(points + ONE_TURN).all()


def test_twists_seen_around_count_for_a_cell():
    points, others = cloud(600, np.random.default_rng(1)), cloud(4000, np.random.default_rng(1))
    own, smooth = (ThetaPhi.fit(points, spread=spread) for spread in (0.0, np.radians(15.0)))
    assert np.array_equal(own.legal, smooth.legal)
    assert (smooth.high - smooth.low)[own.legal].min() > 0.5
    assert smooth.contains(points).all()
    assert smooth.packed[1 + 12] > 2.0 * own.packed[1 + 12]  # far gentler slopes
    inside = own.contains_direction(others[:, :3])
    assert own.contains(others[inside]).mean() < 0.8
    assert smooth.contains(others[inside]).mean() > 0.95


def test_ranges_of_fine_cells_spread_as_far_in_steps(rng):
    points = cloud(300, rng, 0.3)
    coarse, fine = (ThetaPhi.fit(points, cell=np.radians(cell)) for cell in (5.0, 1.5))
    here = points[coarse.contains_direction(points[:, :3]), :3]
    widths = [np.ptp(shape.twist_range(here), axis=1).mean() for shape in (coarse, fine)]
    assert widths[1] == pytest.approx(widths[0], rel=0.25)
    with pytest.raises(ValueError, match="spread must be at least 0"):
        ThetaPhi.fit(points, spread=-0.1)


def test_one_sample_gives_one_cell(rng):
    points = cloud(1, rng)
    shape = ThetaPhi.fit(points)
    assert shape.legal.sum() == 1
    assert shape.measure == 0.0
    assert shape.contains(points).all()
    members = shape.scatter(50, rng)
    assert shape.contains(members).all()
    assert np.ptp(members[:, :3], axis=0).max() > 1e-3


def test_samples_lie_about_the_middle_of_the_table(rng):
    points = cloud(4000, rng, 0.2)
    rows, columns = np.nonzero(ThetaPhi.fit(points).legal)
    assert rows.min() > 36 // 4
    assert rows.max() < 36 * 3 // 4
    assert columns.min() > 72 // 4
    assert columns.max() < 72 * 3 // 4


def test_holes_are_filled_unless_open(rng):
    points = cloud(20_000, rng, 0.6)
    middle = points[:, :3].mean(axis=0)
    middle /= np.linalg.norm(middle)
    away = points[:, :3] @ middle < np.cos(0.2)
    filled, opened = (ThetaPhi.fit(points[away], holes=holes) for holes in ("filled", "open"))
    assert filled.contains_direction(middle)
    assert not opened.contains_direction(middle)
    assert filled.share > opened.share


# Evidence.


def test_more_evidence_widens(rng):
    first, second = cloud(400, rng), cloud(400, np.random.default_rng(9))
    shape = ThetaPhi.fit(first, holes="open")
    more = add(shape, second)
    assert more.counts.sum() == 800
    assert more.contains(first).all()
    assert more.contains(second).all()
    assert more.contains(shape.scatter(3000, rng)).all()
    assert shape.counts.sum() == 400


def test_what_was_seen_already_changes_nothing_but_counts(rng):
    points = cloud(400, rng)
    table = ThetaPhi.fit(points)
    again = add(table, points)
    assert np.allclose(again.low, table.low, atol=1e-12)
    assert np.allclose(again.high, table.high, atol=1e-12)
    assert again.counts.sum() == table.counts.sum() + 400


@pytest.mark.parametrize("spread", [0.0, 0.26])
@pytest.mark.parametrize("kind", ["single", "blob", "islands", "polar", "seam", "ragged"])
def test_with_more_evidence_a_table_holds_what_it_held(kind, spread, rng):
    shape = table(kind)
    members = shape.scatter(2000, rng)
    outside = np.column_stack([directions(40, rng), rng.uniform(-3.0, 3.0, 40)])
    for samples in (outside[:1], outside[1:4], outside):
        assert add(shape, samples, spread=spread).contains(members).all()


def test_twists_of_more_evidence_count_for_cells_around(rng):
    points = cloud(400, rng)
    table = ThetaPhi.fit(points)
    more = points[:1].copy()
    more[:, 3] += 1.5
    wider, alone = add(table, more), add(table, more, spread=0.0)
    raised = [(new.high > table.high + 0.1).sum() for new in (wider, alone)]
    assert raised[0] > 10 > raised[1]
    far = np.arccos(np.clip(points[:, :3] @ points[0, :3], -1.0, 1.0)) > 0.6
    unchanged = wider.twist_range(points[far, :3]) == table.twist_range(points[far, :3])
    assert far.sum() > 10
    assert unchanged.all()
    with pytest.raises(ValueError, match="spread must be at least 0"):
        add(table, more, spread=-1.0)


def test_rare_cells_are_trimmed_by_density(rng):
    shape = ThetaPhi.fit(cloud(5000, rng), holes="open")
    trimmed = shape.trimmed(5.0)
    assert 0 < trimmed.legal.sum() < shape.legal.sum()
    area = areas(shape.counts.shape)
    assert ((shape.counts / area)[trimmed.legal] >= 5.0 / area.max() - 1e-9).all()
    assert shape.contains_direction(trimmed.scatter(500, rng)[:, :3]).all()
    with pytest.raises(ValueError, match="a table needs a legal cell: no evidence reaches"):
        shape.trimmed(1e6)
