"""Dates and times of day written as text: their order, and the numbers that they become.

A column of dates becomes the days since 1970-01-01 (with the fraction of the day), the season (sine
and cosine of the day of the year) if there is more than one date, and the hour (sine and cosine of
the time of day) if the times differ. Times are taken as they are written, whatever their zone.
"""

from __future__ import annotations

import math
import re
from calendar import isleap
from collections.abc import Sequence
from datetime import date

import numpy as np

__all__ = ["PARTS", "find_order", "part_names", "split_days", "to_days"]

_DATE = r"(\d{1,4}|[A-Za-z]{3,9})(?P<sep>[-/. ])(\d{1,2}|[A-Za-z]{3,9})\.?(?P=sep)(\d{1,4})"
_TIME = r"(\d{1,2}):(\d\d)(?::(\d\d(?:[.,]\d+)?))?\s?([AaPp][Mm])?\s?(?:Z|UTC|[+-]\d\d:?\d\d)?"
_PATTERN = re.compile(rf"(?:{_DATE})?(?:(?:^|[T ]|, )\s*(?:{_TIME}))?", re.ASCII)
_MONTHS = {
    name: k for k, name in enumerate(re.findall("...", "janfebmaraprmayjunjulaugsepoctnovdec"), 1)
}
_EPOCH = date(1970, 1, 1).toordinal()
# The parts of a date, and the features that each becomes.
PARTS = {"day": ("day",), "season": ("season sin", "season cos"), "hour": ("hour sin", "hour cos")}


def part_names(parts: Sequence[str]) -> list[str]:
    return [feature for part in parts for feature in PARTS[part]]


def find_order(words: Sequence[str]) -> tuple[str, bool]:
    """The order in which all words write dates, and whether it is the only possible one.

    "ymd", "dmy", "mdy", or "time" of times of day alone; empty if some word is no date. Dates that
    could be either are read day first if their parts are separated by points, else month first.
    """
    orders = ["ymd", "time", "dmy", "mdy"]
    if not any("." in word.partition(" ")[0] for word in words[:1]):
        orders[2:] = "mdy", "dmy"
    if _iso_days(words) is not None:
        return "ymd", True
    possible = [
        order
        for order in (orders if words else ())
        if all(_parse(word, order) is not None for word in words)
    ]
    return (possible[0], len(possible) == 1) if possible else ("", True)


def to_days(words: Sequence[str], order: str) -> np.ndarray:
    """Days since 1970-01-01 with the fraction of the day; NaN of what is no date."""
    days = _iso_days(words) if order == "ymd" else None
    if days is not None:
        return days
    found = (_parse(word, order) for word in words)
    return np.array([math.nan if day is None else day for day in found], np.float64)


def _iso_days(words: Sequence[str]) -> np.ndarray | None:
    """Days of words that NumPy reads as dates, which is fast; None if it does not read them all."""
    if not words or not all(
        word[:4].isdecimal() and word[4:5] == "-" == word[7:8] for word in words
    ):
        return None
    if any(word[-1] == "Z" or "+" in word or "-" in word[10:] for word in words):  # a time zone
        return None
    try:
        return np.array(words, "datetime64[us]").astype(np.int64) / 86_400e6
    except ValueError:
        return None


def split_days(days: np.ndarray, parts: Sequence[str]) -> np.ndarray:
    """The features of dates, one column each; rows of missing dates (NaN) are NaN."""
    columns = []
    whole = np.floor(days)
    for part in parts:
        if part == "day":
            columns.append(days)
            continue
        if part == "hour":
            turn = days - whole
        else:
            turn = np.full(days.shape, math.nan)
            for day in np.unique(whole[np.isfinite(whole)]):
                when = date.fromordinal(int(day) + _EPOCH)
                first = date(when.year, 1, 1).toordinal() - _EPOCH
                here = whole == day
                turn[here] = (days[here] - first) / (365 + isleap(when.year))
        columns += [np.sin(2 * np.pi * turn), np.cos(2 * np.pi * turn)]
    return np.column_stack(columns)


def _parse(word: str, order: str) -> float | None:
    found = _PATTERN.fullmatch(word.strip())
    if found is None or (found[1] is None) != (order == "time"):
        return None
    fraction = _fraction(*found.group(5, 6, 7, 8))
    if fraction is None or order == "time":
        return None if found[5] is None else fraction
    parts = dict(zip(order, found.group(1, 3, 4), strict=True))
    month = _MONTHS.get(parts["m"][:3].lower(), parts["m"])
    try:
        year, day = int(parts["y"]), int(parts["d"])
        if (
            len(parts["y"]) == 2
            and order != "ymd"
            and (found["sep"] == "/" or len(parts["d"]) == 2)
        ):
            year += 2000 if year < 69 else 1900  # as POSIX
        elif len(parts["y"]) != 4:
            return None
        return date(year, int(month), day).toordinal() - _EPOCH + fraction
    except ValueError:  # a word for a number, a month of more than 12
        return None


def _fraction(hour: str | None, minute: str, second: str | None, half: str | None) -> float | None:
    """The fraction of the day of a time; 0 of none, None if there is no such time."""
    if hour is None:
        return 0.0
    h, m, s = int(hour), int(minute), float((second or "0").replace(",", "."))
    if half is not None:
        if not 1 <= h <= 12:
            return None
        h = h % 12 + 12 * (half.lower() == "pm")
    return (h + (m + s / 60) / 60) / 24 if h < 24 and m < 60 and s < 60 else None
