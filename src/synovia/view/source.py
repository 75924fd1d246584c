"""What was edited at the page, as the limits were given: by their own names, on their skeleton."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..limit import Limit
from ..model import LimitModel
from .scene import Scene

EDITED = "edited"
"""The key, among provenance, of the joints whose limits were edited at a page."""


def edited_source(scene: Scene, opened: Mapping[str, Limit]) -> LimitModel:
    """Return the limits that a scene was made of, with those changed since it was `opened`.

    Skeleton, samples, provenance and joints that the clip does not have stay as they are;
    provenance gets the names of the edited joints. Where nothing was changed, it is the source.
    """
    source = _source(scene)
    present = scene.model.limits
    gone = [name for name in opened if name not in present]
    fresh = {name: limit for name, limit in present.items() if limit is not opened.get(name)}
    if not gone and not fresh:
        return source
    limits = dict(source.limits)
    for name in gone:
        del limits[_theirs(scene, name)]
    for name, limit in fresh.items():
        limits[_theirs(scene, name)] = _given_back(scene, name, limit, opened.get(name))
    touched = {_theirs(scene, name) for name in (*gone, *fresh)}
    return replace(source, limits=limits, provenance=_told(source, touched))


def _source(scene: Scene) -> LimitModel:
    return scene.model if scene.source is None else scene.source


def _theirs(scene: Scene, name: str) -> str:
    """Return the source's name for a joint of the clip."""
    given = name if scene.source is None else scene.names.get(name)
    if given is None:
        raise ValueError(
            f"the limit of {name} cannot be saved: the skeleton of the limits has no such joint; "
            f"undo it, or map the joint to one of theirs with --map {name}=JOINT"
        )
    return given


def _given_back(scene: Scene, name: str, limit: Limit, before: Limit | None) -> Limit:
    """Return a limit measured from the joint that the source has for the one it is seen from."""
    was = _source(scene).limits.get(_theirs(scene, name))
    if before is not None and was is not None and limit.relative_to == before.relative_to:
        above = was.relative_to
    else:
        above = None if limit.relative_to is None else _theirs(scene, limit.relative_to)
    return limit if limit.relative_to == above else replace(limit, relative_to=above)


def _told(source: LimitModel, touched: set[str]) -> dict[str, Any]:
    """Return the provenance with the joints that were edited, now and before, as they stand."""
    before = source.provenance.get(EDITED)
    known = {name for name in before if isinstance(name, str)} if isinstance(before, list) else ()
    edited = [name for name in source.skeleton.names if name in touched or name in known]
    return {**source.provenance, EDITED: edited}
