"""Fixtures that tests of the page share: a browser, a scene, and a page that shows it."""

from __future__ import annotations

import pytest

from clips import clip
from synovia import LimitModel
from synovia.view.scene import scene_of
from view.browser import visit


@pytest.fixture(scope="module")
def scene():
    """A clip of an arm that moves twice as far as its limits allow."""
    model = LimitModel.fit([clip(size=0.5, frames=120)], "box", margin=0.02)
    limits = {name: model.limits[name] for name in ("Chest", "LeftArm", "LeftForeArm")}
    cone = LimitModel.fit([clip(size=0.5, frames=120)], "reach-cone", margin=0.02)
    limits["LeftArm"] = cone.limits["LeftArm"]
    wild = clip("wild", size=0.9, frames=120)
    return scene_of(LimitModel(limits, model.skeleton), wild)


@pytest.fixture
def drawn(request):
    """Whether the test looks at pictures."""
    return request.node.get_closest_marker("drawn") is not None


@pytest.fixture
def seen(browser, scene, drawn):
    with visit(browser, scene, drawn=drawn) as page:
        yield page
