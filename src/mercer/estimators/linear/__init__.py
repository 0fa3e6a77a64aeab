"""LinearSVC, LinearSVR and LogisticRegression.

==================  ===============================================================
_base.py            validation, binary tasks, certificate
_classes.py         the public estimators
_crammer_singer.py  all classes in one problem (``multi_class="crammer_singer"``)
_path.py            `path`: a sequence of fits along C
==================  ===============================================================
"""

from mercer.estimators.linear._classes import LinearSVC, LinearSVR, LogisticRegression

__all__ = ["LinearSVC", "LinearSVR", "LogisticRegression"]
