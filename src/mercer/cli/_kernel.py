"""The kernel of ``mercer train``: a name, with parameters for kernels that have their own."""

from __future__ import annotations

from typing import Any

from mercer.cli._errors import UsageError
from mercer.kernels._registry import kernel_named

__all__ = ["make_kernel", "takes_texts"]


def takes_texts(name: str | None) -> bool:
    """Whether a kernel's samples are sequences, so that a column of texts is read."""
    return name is not None and kernel_named(name).sample_type == "sequences"


def make_kernel(options: dict[str, Any]) -> Any:
    """The name of the kernel; of a kernel on texts, or with --normalize, the kernel itself."""
    name, given = options["kernel"], options["kernel_parameter"] or []
    if not takes_texts(name):
        if given:
            raise UsageError("--kernel-parameter is for kernels on texts; see --gamma and --degree")
        if options["normalize"]:
            raise UsageError("--normalize is for kernels on texts, such as --kernel spectrum")
        return name
    cls = kernel_named(name).load()
    valid = sorted(cls().get_params())
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
