"""The kernel of ``mercer train``: a name, with parameters for kernels that have their own."""

from __future__ import annotations

from typing import Any

from mercer.cli._errors import UsageError
from mercer.kernels._registry import KERNELS_BY_NAME

__all__ = ["make_kernel", "samples_of", "takes_texts"]

# How `mercer.data.read_table` reads a file for kernels on structures, by their samples.
SAMPLES = {"tables": "table", "series": "series", "sets": "sets"}


def takes_texts(name: str | None) -> bool:
    """Whether a kernel's samples are sequences or sets, so that a column of texts is read."""
    return name is not None and KERNELS_BY_NAME[name].sample_type in ("sequences", "sets")


def samples_of(name: str | None) -> str | None:
    """``samples`` of `read_table` for a kernel."""
    return None if name is None else SAMPLES.get(KERNELS_BY_NAME[name].sample_type)


def make_kernel(options: dict[str, Any]) -> Any:
    """The name of a kernel on rows of numbers; a kernel on structures itself, with parameters."""
    name, given = options["kernel"], options["kernel_parameter"] or []
    if name is None or KERNELS_BY_NAME[name].sample_type == "vectors":
        if given:
            raise UsageError(
                "--kernel-parameter is for kernels on texts, tables, series and sets; see --gamma "
                "and --degree"
            )
        if options["normalize"]:
            raise UsageError("--normalize is for kernels on texts, such as --kernel spectrum")
        return name
    for option in ("gamma", "degree", "coef0"):
        if options.get(option) not in (None, "auto", "scale"):
            raise UsageError(
                f"--{option} is for kernels on rows of numbers; --kernel {name} has "
                "--kernel-parameter NAME=VALUE"
            )
    cls = KERNELS_BY_NAME[name].load()
    valid = sorted(set(cls().get_params()) - {"columns", "why"})
    parameters = {}
    for word in given:
        key, sign, value = word.partition("=")
        if not sign or key not in valid:
            raise UsageError(
                f"--kernel-parameter {word}: give NAME=VALUE with one of {', '.join(valid)}"
            )
        parameters[key] = _value(word, value)
    try:
        kernel = cls(**parameters)
    except ValueError as error:
        raise UsageError(str(error).rstrip(".")) from error
    if options["normalize"]:
        if not takes_texts(name):
            raise UsageError(
                f"--normalize is for kernels on texts: k(x, x) = 1 with {name} already"
            )
        from mercer.kernels import Normalize

        return Normalize(kernel)
    return kernel


def _value(word: str, text: str) -> Any:
    """A number, or several."""
    found: list[int | float] = []
    for part in text.split(","):
        try:
            found.append(int(part))
        except ValueError:
            try:
                found.append(float(part))
            except ValueError:
                raise UsageError(f"--kernel-parameter {word}: {part!r} is no number") from None
    return tuple(found) if len(found) > 1 else found[0]
