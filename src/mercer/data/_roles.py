"""What the columns of a file are for: features, which of them are words, and the target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from mercer.exceptions import FileError

if TYPE_CHECKING:
    from mercer.data._columns import Options
    from mercer.data._schema import Schema

__all__ = ["Roles", "assign", "distinct_names", "find_column", "find_target"]

# Names that say that a column is the target.
TARGET_NAMES = {"target", "label", "labels", "class", "y", "outcome"}


@dataclass(frozen=True)
class Roles:
    """What columns of a file are for: features in their order, which are words, the target."""

    features: list[int]
    words: set[int]
    target: int | None
    categorical: frozenset[int] = frozenset()


def assign(
    name: str,
    names: Sequence[str],
    words: set[int],
    options: Options,
    schema: Schema | None,
    has_names: bool,
    given: Sequence[str] | None = None,
) -> Roles:
    """Roles of the columns of the file ``name``, of which ``words`` seem to hold words.

    ``names`` are made distinct by `distinct_names` of those that the file has, ``given``.
    """
    given = names if given is None else given
    if schema is not None and schema.columns is not None:
        wanted = {schema.target, *(column.name for column in schema.columns)}
        _refuse_twins(name, names, given, [j for j, n in enumerate(given) if n in wanted])
        return _assign_as_trained(name, names, options, schema, has_names)
    if schema is not None:
        return _assign_by_place(name, names, options, schema)
    dropped = _find_dropped(name, names, given, options)
    _refuse_twins(name, names, given, [j for j in range(len(names)) if j not in dropped])
    names = [names[j] if j in dropped else given[j] for j in range(len(names))]
    target = find_target(name, names, options.target, has_names)
    forced = {find_column(name, names, column, "categorical") for column in options.categorical}
    lost = dropped & {target, *forced}
    if lost:
        what = f"drop=[{names[min(lost)]!r}] contradicts another option for that column."
        raise FileError(name, None, what)
    features = [j for j in range(len(names)) if j != target and j not in dropped]
    if not features:
        raise FileError(name, None, "has no column besides the target.")
    kinds = (words | forced) & {*features, target}
    return Roles(features, kinds, target, frozenset(forced))


def distinct_names(names: Sequence[str]) -> list[str]:
    """The names; those of several columns with their places, counted from 1.

    >>> distinct_names(["a", "b", "a"])
    ['a (column 1)', 'b', 'a (column 3)']
    """
    count = Counter(names)
    return [n if count[n] == 1 else f"{n} (column {j})" for j, n in enumerate(names, 1)]


def _find_dropped(
    name: str, names: Sequence[str], given: Sequence[str], options: Options
) -> set[int]:
    """The columns to be left out: all that have a name that is given."""
    dropped: set[int] = set()
    for column in options.drop:
        same = {j for j, n in enumerate(given) if n == column}
        dropped |= same or {find_column(name, names, column, "drop")}
    return dropped


def _refuse_twins(
    name: str, names: Sequence[str], given: Sequence[str], used: Sequence[int]
) -> None:
    """Raise a FileError if two of the columns ``used`` have one name."""
    first: dict[str, int] = {}
    for j in used:
        i = first.setdefault(given[j], j)
        if i == j:
            continue
        what = f"two columns are named {given[j]!r} (the columns {i + 1} and {j + 1}); rename one."
        if names[j] == given[j]:
            raise FileError(name, 1, what)
        what += f" Or leave one out with drop=[{names[j]!r}]."
        raise FileError(name, 1, what, drop=names[j])


def _assign_as_trained(
    name: str, names: Sequence[str], options: Options, schema: Schema, has_names: bool
) -> Roles:
    assert schema.columns is not None
    wanted = [column.name for column in schema.columns]
    place = {column: j for j, column in reversed(list(enumerate(names)))}  # of several the first
    lacking = [column for column in wanted if column not in place]
    target = place.get(schema.target) if schema.target is not None else None
    if lacking and not has_names and len(names) == len(wanted):
        features, target = list(range(len(wanted))), None  # by their places
    elif lacking:
        what = f"lacks {_listed(lacking)} that the model was trained on; it has {_listed(names)}."
        raise FileError(name, None, what)
    else:
        features = [place[column] for column in wanted]
    if options.target is not None:
        target = find_target(name, names, options.target, has_names)
    trained = zip(features, schema.columns, strict=True)
    kinds = {j for j, column in trained if column.categories or column.parts}
    if target is not None and schema.labels and isinstance(schema.labels[0], str):
        kinds.add(target)
    return Roles(features, kinds, target)


def _assign_by_place(name: str, names: Sequence[str], options: Options, schema: Schema) -> Roles:
    """The model was trained on rows without names: all columns but the target, in their order."""
    target = None
    if options.target is not None or len(names) != schema.n_features:
        target = find_target(name, names, options.target, True)
    features = [j for j in range(len(names)) if j != target]
    if len(features) != schema.n_features:
        what = (
            f"has {len(features)} columns of features, but the model was trained on "
            f"{schema.n_features}."
        )
        raise FileError(name, None, what)
    return Roles(features, set(), target)


def find_target(
    name: str, names: Sequence[str], target: str | int | bool | None, has_names: bool
) -> int | None:
    if target is False:
        return None
    if target is not None:
        return find_column(name, names, target, "target")
    likely = [j for j, column in enumerate(names) if column.strip().lower() in TARGET_NAMES]
    if has_names and len(likely) == 1:
        return likely[0]
    which = f"the columns {_listed(names)}" if has_names else f"{len(names)} columns without names"
    what = (
        f"which column is the target? It has {which}. Give target= a name or a number (-1 is the "
        "last column); where there is none, target=False."
    )
    raise FileError(name, None, what)


def find_column(name: str, names: Sequence[str], column: str | int, option: str) -> int:
    if isinstance(column, str) and column in names:
        return names.index(column)
    try:
        number = int(column)
    except ValueError:
        number = len(names)
    if not -len(names) <= number < len(names):
        near = get_close_matches(str(column), names, 1)
        meant = f"did you mean {near[0]!r}? It has" if near else "it has"
        if isinstance(column, str) and {part.strip() for part in column.split(",")} <= {*names}:
            meant = "several columns are given one by one. It has"
        raise FileError(
            name, None, f"there is no column {option}={column!r}; {meant} {_listed(names)}."
        )
    return number % len(names)


def _listed(names: Sequence[str], shown: int = 20) -> str:
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(map(repr, names[:shown])) + more
