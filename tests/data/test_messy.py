"""Tables as they come: decimal commas, words for nothing, row numbers, rows without a target."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.data import read_table
from mercer.data._table import read_columns
from mercer.exceptions import FileError


@pytest.fixture
def put(tmp_path):
    def write(text, name="data.csv"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


NUMBERED = "y,a\n" + "".join(f"{i % 2},{i}.5\n" for i in range(30))


@pytest.mark.parametrize(
    "text",
    [
        "2023-01-01 00:30:00,1.5,0\n2023-01-02 12:30:00,2.5,1\n",
        "5 12:30 0\n6 13:30 1\n",
        "when value y\n5 12:30 0\n6 13:30 1\n7 14:30 0\n",
        "1 3:4,5\n0 2:1,7\n",
    ],
)
def test_colons_alone_are_no_svmlight(text, put):
    assert read_table(put(text), target=-1).format == "csv"


def test_svmlight_is_still_recognised(put):
    for text in ("1 1:0.5 3:-1e-3 # c\n-1 2:1\n", "# c\n\n+1 qid:3 1:.5\n", "0.5 0:1\n"):
        assert read_table(put(text)).format == "svmlight"


@pytest.mark.parametrize(
    "text",
    ["1 1:1\n1 1:x\n", "a,b,y\n1,2,0\n1,2\n", 'a,y\n1,"2\n', "a,y\n\x00,2\n"],
)
def test_errors_of_the_format_name_the_option(text, put):
    with pytest.raises(FileError, match="format="):
        read_table(put(text))


def test_a_stray_word_is_found_in_files_of_any_length(put):
    for n in (3, 300):
        rows = "".join(f"{i},{i % 2}\n" for i in range(n))
        with pytest.raises(
            FileError, match=rf":{n + 2}: column 'a' .* 'x'; .*na=\['x'\]"
        ) as caught:
            read_table(put(f"a,y\n{rows}x,1\n"))
        assert caught.value.remedy == {"na": "x"}
        found = read_table(put(f"a,y\n{rows}x,1\n"), na=["X"], missing="zero")
        assert_array_equal(found.X[:, 0], [*range(n), 0])
        assert found.n_missing == {"a": 1}
        again = read_table(put("a\nx\n2\n", "new.csv"), schema=found.schema)
        assert_array_equal(again.X[:, 0], [0, 2])


def test_decimal_commas(put):
    for n in (2, 200):
        text = "a;b;y\n" + "".join(f"{i},25;{i};{i % 2}\n" for i in range(n))
        with pytest.raises(
            FileError, match=r"'a' has commas in its numbers .*decimal=','"
        ) as caught:
            read_table(put(text))
        found = read_table(put(text), **caught.value.remedy)
        assert_array_equal(found.X, np.c_[np.arange(n) + 0.25, np.arange(n)])
        assert_array_equal(read_table(put(text), schema=found.schema).X, found.X)
        points = put("a,b\n1.5,2\n", "points.csv")
        assert_array_equal(read_table(points, schema=found.schema, decimal=".").X, [[1.5, 2]])
        with pytest.raises(FileError, match=r"'1\.5'"):
            read_table(points, schema=found.schema)
    with pytest.raises(FileError, match="no thousands' signs"):  # 1.5 or 1500?
        read_table(put("a;b;y\n1.500;1,5;0\n2.500;2,5;1\n"), decimal=",")
    with pytest.raises(FileError, match="decimal= is for CSV"):
        read_table(put("1 1:1\n", "d.svm"), decimal=",")


@pytest.mark.parametrize("n", [3, 300])
@pytest.mark.parametrize(("decimal", "group"), [(".", ","), (",", ".")])
def test_signs_of_thousands(n, decimal, group, put):
    """They are read where the other sign must be the decimal one, in any row."""
    rng = np.random.default_rng(n)
    values = (10.0 ** rng.uniform(0, 8, n)).round(2)
    swap = str.maketrans(",.", group + decimal)
    cells = [f"{value:,.2f}".translate(swap) for value in values]
    rows = "".join(f'{i}{decimal}5;"{cell}";{i % 2}\n' for i, cell in enumerate(cells))
    path = put("x;balance;y\n" + rows)
    how = {} if decimal == "." else {"decimal": ","}
    found = read_table(path, **how)
    assert_array_equal(found.X[:, 1], values)
    assert_array_equal(read_table(path, target="balance", **how).y, values)
    new = put(f'x;balance\n1;"12{group}345{decimal}5"\n2;"3{group}000{group}000"\n', "new.csv")
    assert_array_equal(read_table(new, schema=found.schema).X[:, 1], [12345.5, 3e6])
    with pytest.raises(FileError, match=r"new\.csv:3: column 'balance'"):  # 2.5 or 2500?
        read_table(put(f'x;balance\n1;2\n2;"2{group}500"\n', "new.csv"), schema=found.schema)


def test_commas_beside_points_are_no_decimal_commas(put):
    """The remedy can be followed: decimal="," would refuse the other column."""
    path = put('a;b;y\n1.25;"2,500";0\n2.5;"3,500";1\n')
    with pytest.raises(FileError, match=r"'b' has commas .* other columns have decimal") as caught:
        read_table(path)
    assert caught.value.remedy == {"drop": "b"}
    assert_array_equal(read_table(path, drop=["b"]).X[:, 0], [1.25, 2.5])
    with pytest.raises(FileError, match=r"'a' has points .*decimal commas in all columns"):
        read_table(put("a;b;y\n1.25;2,5;0\n2.5;3,5;1\n"), decimal=",")


def test_columns_that_number_the_rows_are_told(put):
    rows = range(40)
    for header, ids in (
        (",a,y", ["column_0"]),
        ("Unnamed: 0,a,y", ["Unnamed: 0"]),
        ("customer_id,a,y", ["customer_id"]),
        ("userId,a,y", ["userId"]),
        ("fluid,a,y", []),
        ("a,b,y", []),
    ):
        number = (7 * i % 40 for i in rows) if ids != ["column_0"] and "Unn" not in header else rows
        text = f"{header}\n" + "".join(
            f"{k},{np.sin(i)},{i % 2}\n" for i, k in zip(rows, number, strict=True)
        )
        assert read_table(put(text)).id_columns == tuple(ids)
    assert read_table(put(NUMBERED)).id_columns == ("a",)  # rises by one from row to row


def test_rows_without_a_target_are_left_out_where_missing_values_are_filled(put):
    for name, labels in (("numbers", ["1", "", "0", "1"]), ("words", ["u", "NA", "v", "u"])):
        text = "a,w,y\n" + "".join(f"{i},{'pq'[i % 2]},{y}\n" for i, y in enumerate(labels))
        with pytest.raises(FileError, match=r":3: column 'y', the target, .*missing=") as caught:
            read_table(put(text, f"{name}.csv"))
        found = read_table(put(text, f"{name}.csv"), **caught.value.remedy)
        assert_array_equal(found.X[:, 0], [0, 2, 3])
        assert_array_equal(found.y.astype(str), [y for y in labels if y not in ("", "NA")])
        assert found.notes == ("1 row without a target is left out",)


def test_options_are_never_ignored(put):
    path = put("a,b,y\n1,2,0\n2,3,1\n")
    for options in ({"drop": ["y"]}, {"drop": ["a"], "categorical": ["a"]}):
        with pytest.raises(FileError, match="contradicts another option"):
            read_table(path, target="y", **options)
    with pytest.raises(FileError, match="did you mean 'size'"):
        read_table(put("size,y\n1,0\n2,1\n"), drop=["sise"])


def test_a_target_that_names_the_rows_is_refused(put):
    text = "a,y\n" + "".join(f"{i},name{i}\n" for i in range(60))
    with pytest.raises(FileError, match="'y' has 60 different words in 60 rows"):
        read_table(put(text))


def test_columns_named_by_numbers_go_by_their_names(put):
    path = put("2010,2011,y\n5,6,0\n7,8,1\n")
    assert read_table(path, drop=["2010"]).schema.feature_names == ["2011"]
    assert read_table(path, drop=[0]).schema.feature_names == ["2011"]


def test_columns_are_copied_as_they_are_written(put):
    path = put('id,a,y\n007,1.50,0\n"x, y",2,1\n')
    assert read_columns(path, ["id", "a"], "csv") == {"id": ["007", "x, y"], "a": ["1.50", "2"]}
    with pytest.raises(FileError, match="keep="):
        read_columns(put("1 1:1\n", "d.svm"), ["id"], "svmlight")


def test_a_remedy_survives_a_copy():
    error = pickle.loads(pickle.dumps(FileError("f", 3, "what.", drop="a")))
    assert (str(error), error.line, error.remedy) == ("f:3: what.", 3, {"drop": "a"})


def test_outcome_is_a_default_target(put):
    assert read_table(put("a,outcome\n1,0\n2,1\n")).schema.target == "outcome"


def test_one_name_is_a_list_of_one(tmp_path):
    """Not its letters: of na="-99" the 9 would be missing."""
    path = tmp_path / "few.csv"
    path.write_text("a,b,kind,y\n9,1,3,u\n-99,2,4,v\n7,3,3,u\n")
    one = read_table(path, target="y", drop="b", na="-99", categorical="kind", missing="zero")
    listed = read_table(
        path, target="y", drop=["b"], na=["-99"], categorical=["kind"], missing="zero"
    )
    assert one.schema.feature_names == ["a", "kind=3", "kind=4"]
    np.testing.assert_array_equal(one.X, listed.X)
    assert one.X[:, 0].tolist() == [9, 0, 7]
    by_number = read_table(path, target="y", drop=1, categorical=2)
    assert by_number.schema.feature_names == ["a", "kind=3", "kind=4"]


def test_several_names_in_one_are_told(tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("a,b,y\n9,1,u\n8,2,v\n")
    with pytest.raises(FileError, match="several columns are given one by one"):
        read_table(path, target="y", drop="a, b")
