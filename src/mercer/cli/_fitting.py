"""A fit as the command line runs it: watched, stopped by Ctrl-C, its warnings in one line each."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.utils._param_validation import InvalidParameterError

from mercer.certificates._certificate import Certificate
from mercer.cli._errors import Failed, complain
from mercer.cli._output import plain, table
from mercer.cli._progress import Bar
from mercer.data import Table

__all__ = ["certificate_of", "fit", "is_unfinished", "shown"]


def fit(model: Any, data: Table, quiet: bool = False) -> None:
    """Fit; after Ctrl-C the model so far is kept, if there is one."""
    watched = "callback" in model.get_params()
    with Bar(model, quiet) as bar, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=FutureWarning)  # about scikit-learn's future
        if bar.shown and watched:
            model.set_params(callback=bar)
        try:
            model.fit(data.X, data.y)
        except InvalidParameterError:
            raise
        except ValueError as error:
            raise Failed(f"{data.name}: {error}") from error
        except KeyboardInterrupt:
            if not (hasattr(model, "expansion_") or hasattr(model, "coef_")):
                raise
        finally:
            if watched:
                model.set_params(callback=None)
    for warning in caught:
        complain(warning.message)


def certificate_of(model: Any) -> Any:
    """What is proved about a model, or None."""
    return getattr(model, "certificate_", None)


def is_unfinished(model: Any) -> bool:
    """Whether the fit stopped before its tolerance."""
    if hasattr(model, "fit_status_"):
        return bool(model.fit_status_)
    certificate = certificate_of(model)
    return certificate is not None and not certificate.status.is_solved


def shown(model: Any) -> str:
    """What is proved about a model, in lines."""
    certificate = certificate_of(model)
    if certificate is None:
        return f"{type(model).__name__} minimises nothing that could be certified"
    if isinstance(certificate, Certificate):
        return repr(certificate)
    return "Certificate\n" + table({f"  {name}": v for name, v in plain(certificate).items()})
