"""Repairs of clips: every joint possible, with hands, feet and head where they were."""

from .effectors import KEEP
from .repair import STAGES, repair
from .report import RepairReport, StageReport

__all__ = ["KEEP", "STAGES", "RepairReport", "StageReport", "repair"]
