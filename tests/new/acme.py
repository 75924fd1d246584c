"""Acme: a program whose joints have German names."""

from __future__ import annotations

from .conventions import Convention

ACME = Convention(
    joints=("acme_beck acme_kopf",),
    words={
        "beck": "pelvis",
        "rumpf": "chest",
        "kopf": "head",
        "oberarm": "upperarm",
        "unterarm": "forearm",
        "bein": "thigh",
        "wade": "shin",
    },
    ignored=("acme",),
)
