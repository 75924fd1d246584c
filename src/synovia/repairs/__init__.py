"""Repairs of clips: every joint possible, with hands, feet and head where they were."""

from .effectors import KEEP
from .repair import STAGES, RepairReport, StageReport, repair

__all__ = ["KEEP", "STAGES", "RepairReport", "StageReport", "repair"]
