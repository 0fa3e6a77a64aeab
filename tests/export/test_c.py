"""The C compiler as the client: no warning, and the values and labels of the model."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

from mercer.export import to_c
from tests.export.models import CASES, expected

CC = shutil.which("cc") or shutil.which("gcc")
pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler")
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-std=c99", "-O1"]

MAIN = r"""
#include <stdio.h>
#include "m.h"
int main(void) {
    REAL row[m_COLUMNS], values[m_VALUES];
    int i;
    for (;;) {
        for (i = 0; i < m_COLUMNS; i++) {
            double x;
            if (scanf("%lf", &x) != 1) return 0;
            row[i] = (REAL)x;
        }
        m_decision_values(row, values);
        PREDICT
        for (i = 0; i < m_VALUES; i++) printf(" %.17g", (double)values[i]);
        printf("\n");
    }
}
"""


def run(model, rows, folder, dtype="double"):
    """Labels or predictions as texts, and values."""
    text = to_c(model, folder / "m.h", name="m", dtype=dtype)
    predict = 'printf("-");'
    if "m_labels" in text:
        predict = 'printf("%s|", m_labels[m_predict(row)]);'
    elif "m_predict" in text:
        predict = 'printf("%.17g|", (double)m_predict(row));'
    main = MAIN.replace("REAL", dtype).replace("PREDICT", predict)
    (folder / "main.c").write_text(main, encoding="utf-8")
    done = subprocess.run(
        [CC, *STRICT, "main.c", "-o", "main", "-lm"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    given = "\n".join(" ".join(f"{x:.17g}" for x in row) for row in rows)
    out = subprocess.run([folder / "main"], input=given, capture_output=True, text=True, check=True)
    lines = [line.split("|") if "|" in line else ["", line] for line in out.stdout.splitlines()]
    labels = [line[0] for line in lines]
    return labels, np.array([line[1].lstrip("-").split() if not line[0] else line[1].split()
                             for line in lines], dtype=float)  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_labels_are_the_models(name, tmp_path):
    case = CASES[name]()
    labels, _ = expected(case.model, case.rows)
    found, got = run(case.model, case.rows, tmp_path)
    if labels is not None:
        assert found == [str(label) for label in labels]
    last = case.model[-1] if hasattr(case.model, "steps") else case.model
    if hasattr(last, "decision_function_shape"):  # C has the values of the pairs
        last.set_params(decision_function_shape="ovo", break_ties=False)
    _, values = expected(case.model, case.rows)
    atol = 1e-10 * max(np.abs(values).max(), 1.0)
    np.testing.assert_allclose(got, values, rtol=0, atol=atol)


@pytest.mark.parametrize("name", ["SVC two classes", "LinearSVC", "SVR", "SVC composed"])
def test_float_differs_by_its_rounding(name, tmp_path):
    case = CASES[name]()
    _, double = run(case.model, case.rows, tmp_path)
    _, single = run(case.model, case.rows, tmp_path, "float")
    size = np.abs(double).max()
    assert 0 < np.abs(single - double).max() < 1e-3 * max(size, 1.0)


@pytest.mark.parametrize("name", [name for name in CASES if name.endswith(", ties")])
def test_ties_are_those_of_the_model_in_float(name, tmp_path):
    """Values of exactly zero are exactly zero in float."""
    case = CASES[name]()
    tied = case.rows[~case.rows.any(axis=1)]
    assert len(tied)
    found, _ = run(case.model, tied, tmp_path, "float")
    assert found == [str(label) for label in case.model.predict(tied)]


def test_names_are_checked(tmp_path):
    case = CASES["LinearSVC"]()
    with pytest.raises(ValueError, match="name must be a name in C"):
        to_c(case.model, name="2 models")
    with pytest.raises(ValueError, match="dtype must be 'double' or 'float'"):
        to_c(case.model, dtype="half")
