"""Before a fit: what will hurt, and what it will take.

===============  ==============================================================
examine.py       `doctor`: the checks in turn
report.py        `Report`, `Estimate`: what it says
_checks.py       columns and targets by themselves
_rows.py         equal rows, by hashing
_settings.py     C and γ against the data's scale
_calibrate.py    short measurements: samples fitted, a kernel tile timed
_cost.py         time and memory of each route, extrapolated from these
===============  ==============================================================
"""

from mercer.data._column_statistics import Finding
from mercer.diagnostics._doctor import doctor
from mercer.diagnostics._report import Estimate, Report

__all__ = ["Estimate", "Finding", "Report", "doctor"]
