"""Dates become numbers: against the standard library, in every spelling, in files and models."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.data import read_table
from mercer.data._dates import find_order, split_days, to_days
from mercer.exceptions import FileError
from mercer.persistence import open_model

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SPELLINGS = {
    "ymd": ["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y/%m/%d %H:%M", "%Y-%m-%d %H:%M:%S+0200"],
    "dmy": ["%d.%m.%Y %H:%M", "%d-%b-%Y %H:%M:%S", "%d %B %Y %H:%M", "%d/%m/%y %H:%M"],
    "mdy": ["%m/%d/%Y %I:%M %p", "%m-%d-%Y %H:%M", "%b %d %Y %H:%M"],
}


@pytest.mark.parametrize(("order", "spelling"), [(k, s) for k, v in SPELLINGS.items() for s in v])
@given(st.integers(0, 365 * 60), st.integers(0, 24 * 60 - 1))
def test_days_as_the_standard_library_counts_them(order, spelling, day, minute):
    when = EPOCH + timedelta(days=day, minutes=minute)
    (found,) = to_days([when.strftime(spelling)], order)
    assert found == pytest.approx((when - EPOCH) / timedelta(days=1), abs=1e-9)


def test_the_order_is_that_which_reads_all():
    assert find_order(["01/02/2023", "01/31/2023"]) == ("mdy", True)
    assert find_order(["01/02/2023", "31/01/2023"]) == ("dmy", True)
    assert find_order(["01/02/2023"]) == ("mdy", False)
    assert find_order(["01.02.2023"]) == ("dmy", False)
    assert find_order(["13:05", "1:07:30"]) == ("time", True)
    for words in (["31/01/2023", "01/31/2023"], ["2023-02-30"], ["1.2.3"], ["10.5"], ["12:61"], []):
        assert find_order(words)[0] == ""


def test_season_and_hour_are_angles():
    days = to_days(["2023-01-01 00:00", "2023-07-02 12:00", "2024-01-01 06:00"], "ymd")
    day, sin_year, cos_year, sin_day, cos_day = split_days(days, ("day", "season", "hour")).T
    assert_array_equal(day, days)
    assert_allclose(sin_year**2 + cos_year**2, 1)
    assert_allclose(sin_year[:2], [0, 0], atol=1e-12)  # the first moment, and the middle of 2023
    assert_allclose(cos_year[:2], [1, -1])
    assert_allclose(np.c_[sin_day, cos_day], [[0, 1], [0, -1], [1, 0]], atol=1e-12)


def frame(n=120):
    when = pd.Timestamp("2023-03-01 06:00") + pd.to_timedelta(np.arange(n) * 31.0, unit="h")
    late = np.sin(2 * np.pi * when.hour / 24) > 0
    rng = np.random.default_rng(0)
    return pd.DataFrame({"when": when, "a": rng.normal(size=n), "y": np.where(late, "p", "q")})


def test_a_file_with_colons_is_a_table_whose_dates_are_numbers(tmp_path):
    data = frame()
    data.to_csv(tmp_path / "d.csv", index=False)
    data.to_parquet(tmp_path / "d.parquet")
    found = read_table(tmp_path / "d.csv")
    assert found.format == "csv"
    parts = ["day", "season sin", "season cos", "hour sin", "hour cos"]
    assert found.schema.feature_names == [*(f"when: {part}" for part in parts), "a"]
    assert_allclose(found.X[:, 0], (data["when"] - pd.Timestamp(0)) / pd.Timedelta(days=1))
    assert_allclose(read_table(tmp_path / "d.parquet").X, found.X)
    dates = data.assign(when=data["when"].dt.strftime("%d.%m.%Y"))
    dates.to_csv(tmp_path / "days.csv", index=False)
    assert read_table(tmp_path / "days.csv").schema.columns[0].parts == ("day", "season")
    times = data.assign(when=data["when"].dt.strftime("%H:%M"))
    times.to_csv(tmp_path / "times.csv", index=False)
    assert read_table(tmp_path / "times.csv").schema.columns[0].parts == ("hour",)
    few = data.assign(when=np.where(data["a"] > 0, "2023-01-01", "2023-01-02"))
    few.to_csv(tmp_path / "few.csv", index=False)
    forced = read_table(tmp_path / "few.csv", categorical=["when"]).schema.columns[0]
    assert forced.categories == ("2023-01-01", "2023-01-02")


def test_an_ambiguous_order_is_told(tmp_path):
    (tmp_path / "d.csv").write_text("when,y\n" + "01/02/2023,0\n03/04/2023,1\n" * 5)
    (note,) = read_table(tmp_path / "d.csv").notes
    assert "'01/02/2023' is read as month/day" in note


def test_a_saved_model_reads_dates_as_in_training(tmp_path):
    data = frame()
    data.to_csv(tmp_path / "d.csv", index=False)
    train = read_table(tmp_path / "d.csv", scale="standard")
    model = mercer.SVC().fit(train.X, train.y)
    mercer.save(model, tmp_path / "m", schema=train.schema)
    schema = open_model(tmp_path / "m").schema
    assert schema.as_dict() == train.schema.as_dict()
    assert_array_equal(read_table(tmp_path / "d.csv", schema=schema).X, train.X)
    data.iloc[:1].drop(columns="y").to_csv(tmp_path / "one.csv", index=False)
    assert_array_equal(read_table(tmp_path / "one.csv", schema=schema).X, train.X[:1])
    (tmp_path / "bad.csv").write_text("when,a\n2023-03-01 06:00:00,1\nsoon,2\n")
    with pytest.raises(FileError, match="'when' holds dates, but also 'soon'"):
        read_table(tmp_path / "bad.csv", schema=schema)


@pytest.mark.parametrize("missing", ["median", "mean"])
def test_missing_dates_are_filled(missing, tmp_path):
    text = "when,y\n2023-01-01,0\n2023-01-03,1\n,0\n2023-01-11,1\n"
    (tmp_path / "d.csv").write_text(text)
    found = read_table(tmp_path / "d.csv", missing=missing)
    known = to_days(["2023-01-01", "2023-01-03", "2023-01-11"], "ymd")
    expected = {"median": np.median, "mean": np.mean}[missing](known)
    assert found.X[2, 0] == expected
    assert found.n_missing == {"when": 1}
    (tmp_path / "new.csv").write_text("when\nsoon\n2023-01-01\n")
    new = read_table(tmp_path / "new.csv", schema=found.schema)
    assert new.X[0, 0] == expected
    assert "'soon' is no date, and counts as missing" in new.notes[0]
