"""Checks before a fit, and an estimate of its time.

================  =====================================================
_doctor.py        `doctor`: the checks in turn, and the fit of a sample
_report.py        `Report`, `Estimate`
_checks.py        columns, targets, equal rows
_kernel_scale.py  C and γ against the scale of the data
_low_rank.py      whether low rank can work, from a small sample
_settings.py      thresholds and sizes
================  =====================================================
"""

from mercer.data._column_statistics import Finding
from mercer.diagnostics._doctor import doctor
from mercer.diagnostics._report import Estimate, Report

__all__ = ["Estimate", "Finding", "Report", "doctor"]
