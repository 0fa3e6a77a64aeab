"""`mercer.autofit`: kernels, parameters and scaling, chosen within a time limit.

==============  ==================================================================
_autofit.py     `autofit`
_look.py        task, kinds of columns, transformers for them
_families.py    families of candidates: kernels from the registry, and linear models
_search.py      rounds on more and more rows within the time
_trials.py      scores of candidates, and measured times
_report.py      `AutofitReport`: table, pictures
_code.py        a pipeline as Python code
_settings.py    sizes and fractions
==============  ==================================================================
"""

from mercer.automl._autofit import autofit
from mercer.automl._report import AutofitReport
from mercer.automl._trials import AutofitProgress

__all__ = ["AutofitProgress", "AutofitReport", "autofit"]
