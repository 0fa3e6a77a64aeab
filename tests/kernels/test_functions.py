"""Functions as kernels: every form, recognised and not, compiled and not, saved and loaded."""

from __future__ import annotations

import ast
import importlib.util
import math
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV

import mercer
from mercer.kernels import RBF, InterpretedKernelWarning, Linear, Normalize, Polynomial, Samples
from mercer.kernels.functions._dot_form import dot_form
from tests.kernels import written
from tests.kernels.conformance import KernelConformance
from tests.oracles.naive_kernels import NAIVE

ROOT = Path(__file__).parents[2]
NAIVE["gauss"] = lambda x, z, gamma: math.exp(-gamma * math.fsum((x - z) ** 2))
NAIVE["manhattan"] = lambda x, z, gamma: math.exp(-gamma * math.fsum(abs(x - z)))
NAIVE["power"] = lambda x, z, degree, c: (0.5 * math.fsum(x * z) + c) ** degree
NAIVE["of_dots"] = NAIVE["gauss"]

X = np.random.default_rng(0).normal(size=(60, 3))
y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)


class TestGauss(KernelConformance):
    kernel = written.gauss(gamma=0.05)


class TestManhattan(KernelConformance):
    kernel = written.manhattan


class TestPower(KernelConformance):
    kernel = written.power(c=0.5)


class TestOfDots(KernelConformance):
    kernel = written.of_dots(gamma=0.02)


class TestSumOfFunctions(KernelConformance):
    kernel = written.gauss(gamma=0.05) * 2 + written.power(degree=2) ** 2 + RBF(0.1)
    names = vars(written)


# ---------------------------------------------------------------------- what is recognised

NAMES = {"np": np, "math": math, "exp": np.exp}
FORMS = {
    "np.exp(-gamma * np.sum((x - z) ** 2))": True,
    "math.exp(-gamma * ((x - z) ** 2).sum())": True,
    "np.exp(-np.dot(x - z, x - z) / 2)": True,
    "exp(-np.linalg.norm(x - z) ** 2)": True,
    "1 / (1 + np.square(z - x).sum())": True,
    "np.sqrt(np.sum(((x - z) / 2) ** 2) + 1)": True,
    "(gamma * x.dot(z) + 1) ** 3": False,
    "x @ z": False,
    "np.sum(x * z) / np.sqrt((x @ x) * (z @ z))": False,
    "np.tanh(gamma * np.inner(x, z)) + np.sum((x + 2 * z) * (x - z))": False,
    "np.abs(x - z).sum()": None,
    "np.minimum(x, z).sum()": None,
    "(x * z).max()": None,
    "np.exp(-np.sum((x - z) ** 2)) * x[0] * z[0]": None,
    "np.sum((x - z) ** 4)": None,
    "np.linalg.norm(x - z, 1)": None,
    "np.sum(x)": None,
    "1.0": None,
}


@pytest.mark.parametrize(("text", "expected"), FORMS.items())
@pytest.mark.parametrize("where", ["return", "assigned"])
def test_functions_of_dot_products_are_recognised(text, expected, where, rng):
    """The rewritten function has the values of the one that was written."""
    body = f"return {text}" if where == "return" else f"value = {text}\n    return value"
    tree = ast.parse(f"def k(x, z, gamma=0.7):\n    {body}").body[0]
    found = dot_form(tree, NAMES)
    assert (found is None) == (expected is None)
    if found is None:
        return
    assert found.is_shift_invariant == expected
    names = NAMES | {"_exp": np.exp, "_larger": max}
    exec(found.source, names)
    for x, z in rng.normal(size=(5, 2, 4)):
        given = eval(text, {**NAMES, "x": x, "z": z, "gamma": 0.7})
        assert names["value"](x @ z, x @ x, z @ z, 0.7) == pytest.approx(given, rel=1e-12)


@pytest.mark.parametrize(
    "body",
    [
        "x = x / np.sum(x)\n    return x @ z",
        "n = np.sum(x @ z)\n    x = np.abs(x)\n    return n * x.sum()",
        "for i in range(2):\n        x = x * 2\n    return x @ z",
        "if x @ z > 0:\n        return 1.0\n    return x @ z",
    ],
)
def test_other_bodies_are_left_alone(body):
    tree = ast.parse(f"def k(x, z):\n    {body}").body[0]
    assert dot_form(tree, NAMES) is None


def test_exponentials_of_arrays_are_compiled():
    @mercer.kernel
    def k(x, z):
        return np.exp(-np.abs(x - z)).sum() + math.exp(-1.0)

    expected = np.exp(-np.abs(X[:, None] - X[None])).sum(axis=2) + math.exp(-1.0)
    np.testing.assert_allclose(k(X), expected, rtol=1e-14)


def test_vectors_may_have_names():
    tree = ast.parse(
        "def k(a, b, s=1.0):\n    'text'\n    d = a - b\n    q = d * d\n    t = q.sum() / s\n"
        "    return np.exp(-t)"
    ).body[0]
    found = dot_form(tree, NAMES)
    assert found is not None
    assert found.is_shift_invariant
    assert ast.parse(found.source)


# ---------------------------------------------------------------------- parameters and values


def test_parameters_are_fields():
    k = written.gauss
    assert k.get_params() == {"gamma": 1.0}
    assert k(gamma=0.5) == k.set_params(gamma=0.5) != k
    assert k() == k
    assert repr(k(gamma=0.5)) == "gauss(gamma=0.5)"
    assert (k + RBF()).set_params(k1__gamma=3.0).k1 == k(gamma=3.0)
    with pytest.raises(ValueError, match="no parameter 'sigma'"):
        k(sigma=1)
    with pytest.raises(ValueError, match="must be a number, got 'wide'"):
        k(gamma="wide")
    search = GridSearchCV(mercer.SVC(kernel=k), {"kernel__gamma": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_["kernel__gamma"] in (0.1, 1.0)


def test_matrices_features_and_objects():
    np.testing.assert_allclose(written.of_matrices(X), 2 * X @ X.T)
    phi = np.hstack([X, 3 * X**2])
    np.testing.assert_allclose(written.squares(weight=3.0)(X), phi @ phi.T, rtol=1e-13)
    words = ["abba", "cab", "", "zz"]
    counts = np.array([[word.count(c) for c in "abcz"] for word in words])
    np.testing.assert_array_equal(written.letters(weight=2.0)(words), 4 * counts @ counts.T)
    np.testing.assert_array_equal(
        written.letters(words[:1], ["ab", "q"]), [[counts[0, 0] + counts[0, 1], 0]]
    )
    np.testing.assert_array_equal(written.common(words)[:2], [[2, 2, 0, 0], [2, 3, 0, 0]])
    assert written.squares.is_psd
    assert written.letters.is_psd
    assert written.of_matrices.is_psd is None


@pytest.mark.parametrize(
    ("k", "same"),
    [
        (written.gauss(gamma=0.4), RBF(0.4)),
        (written.of_dots(gamma=0.4), RBF(0.4)),
        (written.power(degree=2), Polynomial(2, 0.5, 1.0)),
        (written.of_matrices, 2 * Linear()),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_fits_are_those_of_the_same_kernel(k, same, form):
    rows = form(np.round(X, 2))
    model, other = (mercer.SVC(kernel=each, tol=1e-5).fit(rows, y) for each in (k, same))
    assert model.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-4)
    assert mercer.verify(model, rows, y).status.is_solved
    values = model.decision_function(rows), other.decision_function(rows)
    np.testing.assert_allclose(*values, atol=2e-3)


def test_tiles_of_integers_have_the_values_of_others(rng):
    """A table of squared distances stands for the function there."""
    counts = rng.integers(0, 3, size=(40, 5))
    points = Samples(counts)
    K = np.empty((40, 40), np.float32)
    block = points.take(slice(0, 40), np.float32)
    written.gauss(gamma=0.3).tile(block, block, K)
    np.testing.assert_allclose(K, RBF(0.3)(counts), rtol=2e-7)
    assert any(isinstance(key, tuple) and "table" in key for key in points.prepared)


# ---------------------------------------------------------------------- what cannot be


def test_what_cannot_be_compiled_runs_as_python_with_one_note():
    registry = {}

    @mercer.kernel
    def slow(x, z, s=1.0):
        registry["calls"] = registry.get("calls", 0) + 1
        return s * float(x @ z)

    with pytest.warns(InterpretedKernelWarning, match="'slow' cannot be compiled") as caught:
        K = slow(s=2.0)(X)
    assert len(caught) == 1
    np.testing.assert_allclose(K, 2 * X @ X.T)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slow(s=3.0)(X[:2])
    assert registry["calls"] > 0


def test_imports_within_a_function_run_as_python():
    @mercer.kernel
    def cosine(x, z):
        from scipy.spatial.distance import cosine

        return 1 - cosine(x, z)

    with pytest.warns(InterpretedKernelWarning, match="'cosine' cannot be compiled"):
        K = cosine(X[:5])
    rows = X[:5] / np.linalg.norm(X[:5], axis=1, keepdims=True)
    np.testing.assert_allclose(K, rows @ rows.T)


def test_the_note_names_what_cannot_be_compiled():
    import re

    @mercer.kernel
    def words(x, z):
        return float(len(re.sub("a", "", "ab")))

    with pytest.warns(InterpretedKernelWarning, match="attribute 'sub'"):
        words(X[:2])


def test_a_function_that_returns_no_number_is_told_so():
    """Without a note first that it is slow, which is not what is wrong with it."""

    @mercer.kernel
    def product(x, z):
        return x * z

    @mercer.kernel
    def nothing(x, z):
        x @ z

    @mercer.kernel(of="objects")
    def text(x, z):
        return "1.0"

    @mercer.kernel
    def misspelt(x, z):
        return x @ zz  # noqa: F821

    for kernel, message in (
        (product, r"product\(\) must return a number .* an array of shape \(3,\)"),
        (nothing, r"nothing\(\) must return a number .* None \(is there a return\?\)"),
        (text, r"text\(\) must return a number .* str '1.0'"),
    ):
        with pytest.raises(ValueError, match=message):
            kernel(X[:3])
    with pytest.raises(NameError, match="zz"):
        misspelt(X[:3])


def test_an_infinite_value_is_no_matter_of_scale():
    @mercer.kernel
    def log(x, z):
        return np.log(abs(x[0] - z[0]))

    with pytest.raises(ValueError, match="Its values must be finite numbers"):
        mercer.SVC(kernel=log).fit(X, y)


def test_landmarks_without_a_length_are_told_so():
    @mercer.kernel
    def distance(x, z):
        return -np.sum((x - z) ** 2)

    with pytest.raises(ValueError, match=r"distance\(\) has no k\(x, x\) above 0.*check_kernel"):
        mercer.embeddings.Nystroem(kernel=distance, n_components=3).fit(X)


def test_values_that_are_not_finite_or_not_symmetric():
    @mercer.kernel
    def root(x, z):
        return np.sqrt(x @ z)

    with pytest.raises(ValueError, match=r"root\(\) returned NaN"):
        root(X)

    @mercer.kernel
    def first(x, z):
        return x[0] + 2 * z[0]

    with pytest.raises(ValueError, match="not symmetric"):
        mercer.SVC(kernel=first).fit(X, y)

    @mercer.kernel
    def large(x, z):
        return np.exp(800 * (x @ z))

    with pytest.raises(ValueError, match="large"):
        large(X)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def k(x, z, w): return 1.0", ""),  # of dot products
        ("def k(x, z, *rest): return 1.0", r"\*arguments"),
        ("def k(): return 1.0", "arguments without a default"),
        ("def k(x, z, tile=1.0): return tile", "rename"),
        ("def k(x, z, a='b'): return 1.0", "must be a number"),
    ],
)
def test_functions_that_are_no_kernels(text, message):
    names = {}
    exec(text, names)
    if not message:
        assert mercer.kernel(names["k"]).definition.form == "dot"
        return
    with pytest.raises(ValueError, match=message):
        mercer.kernel(names["k"])


def test_only_functions_and_known_forms():
    with pytest.raises(TypeError, match="takes a function"):
        mercer.kernel(3)
    with pytest.raises(ValueError, match="one of vectors"):
        mercer.kernel(of="rows")(lambda x, z: 1.0)


def test_a_function_without_source_is_compiled():
    names = {"np": np}
    exec("def k(x, z, g=0.5): return np.exp(-g * np.sum((x - z) ** 2))", names)
    np.testing.assert_allclose(mercer.kernel(names["k"])(X), RBF(0.5)(X), rtol=1e-12)


def test_names_of_the_module_and_functions_that_are_called():
    shift = 2.0

    def helper(t):
        return t + shift

    @mercer.kernel
    def k(x, z):
        return helper(x @ z)

    np.testing.assert_allclose(k(X), X @ X.T + 2)


# ---------------------------------------------------------------------- copies and files


@pytest.mark.parametrize("k", [written.gauss(gamma=2.0), written.letters, written.squares + 1])
def test_pickles_name_the_import_path(k):
    again = pickle.loads(pickle.dumps(k))
    assert again == k
    assert hash(again) == hash(k)


PROGRAM = """
import numpy as np, mercer
try:
    mercer.load({path!r})
except Exception as error:
    print(error)
import tests.kernels.written
np.save({out!r}, mercer.load({path!r}).decision_function(np.load({rows!r})))
"""


def test_models_are_loaded_where_the_function_is_known(tmp_path):
    model = mercer.SVC(kernel=2 * written.gauss(gamma=0.5) + 1).fit(X, y)
    path, rows, out = (str(tmp_path / name) for name in ("m.mercer", "X.npy", "f.npy"))
    mercer.save(model, path)
    np.save(rows, X)
    command = [sys.executable, "-c", PROGRAM.format(path=path, rows=rows, out=out)]
    env = os.environ | {"PYTHONPATH": str(Path(mercer.__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert "import tests.kernels.written first" in done.stdout
    np.testing.assert_array_equal(np.load(out), model.decision_function(X))


def test_a_function_of_another_source_is_warned_about(tmp_path):
    model = mercer.SVC(kernel=written.gauss).fit(X, y)
    mercer.save(model, tmp_path / "m.mercer")

    @mercer.kernel
    def gauss(x, z, gamma=1.0):
        return np.exp(-2 * gamma * np.sum((x - z) ** 2))

    with pytest.warns(UserWarning, match="another source"):
        mercer.load(tmp_path / "m.mercer", callables={"gauss": gauss})
    with pytest.raises(ValueError, match=r"give the kernel that @mercer\.kernel makes of it"):
        mercer.load(tmp_path / "m.mercer", callables={"gauss": lambda x, z: 1.0})


class TestFeaturesThatAreNone:
    """What φ returns is checked by row."""

    @pytest.mark.parametrize(
        ("values", "said"),
        [
            (None, "None"),
            ("abc", "str 'abc'"),
            (sp.csr_matrix([[1.0]]), "csr"),
            ([[1], [1, 2]], "list"),
        ],
    )
    def test_arrays(self, values, said):
        k = mercer.kernel(lambda x: values if x == "b" else [1.0])
        with pytest.raises(ValueError, match=f"array of numbers; it returned {said}.* for row 1"):
            k(["a", "b"])

    @pytest.mark.parametrize("value", [None, "abc", [1.0]])
    def test_dicts(self, value):
        k = mercer.kernel(lambda x: {"f": value if x == "b" else 1.0}, of="sparse features")
        with pytest.raises(ValueError, match=r"the feature 'f' is .* for row 1"):
            k(["a", "b"])

    def test_another_number_of_features_than_of_the_training_set(self):
        k = mercer.kernel(lambda x: np.ones(len(x)))
        model = mercer.SVC(kernel=k + 1).fit(["aa", "bb", "cc"], [0, 1, 0])
        with pytest.raises(ValueError, match="φ returns 3 features for these samples, but 2 for"):
            model.predict(["aaa"])


def made(scale, rate=1.0):
    """Kernels of one source and one path that use other values."""

    @mercer.kernel
    def k(x, z):
        return scale * np.exp(-rate * np.sum((x - z) ** 2))

    return k


def lengths(rate):
    return mercer.kernel(lambda x, z: rate * float(len(x) * len(z)), of="objects", psd=True)


def test_functions_that_use_other_values_are_other_kernels():
    first, second = made(1.0), made(2.0, 0.1)
    assert first != second
    assert first == made(1.0)
    assert hash(first) == hash(made(1.0))
    assert len({lengths(1.0), lengths(2.0), lengths(1.0)}) == 2
    assert made(np.ones(2)) != made(np.ones(2))  # values that are not compared
    assert mercer.kernel(lambda x: np.sqrt(x)) != mercer.kernel(lambda x: np.square(x))
    # What is kept for each kernel of a data set is that of the kernel.
    K = (Normalize(first) + Normalize(second))(X)
    np.testing.assert_allclose(K, Normalize(first)(X) + Normalize(second)(X), rtol=1e-15)
    small = np.arange(12.0).reshape(6, 2) % 3
    np.testing.assert_allclose((first + second)(small), first(small) + second(small), rtol=1e-15)


def test_a_function_that_uses_other_values_is_warned_about(tmp_path):
    model = mercer.SVC(kernel=made(1.0, 0.5)).fit(X, y)
    mercer.save(model, tmp_path / "m.mercer")
    made(1.0, 0.5)
    loaded = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    made(1.0, 2.0)
    with pytest.warns(UserWarning, match="other values beside its arguments"):
        mercer.load(tmp_path / "m.mercer")


DIGEST = """
import mercer
k = mercer.kernel(lambda x: {t: sum(len(u) for u in x) for t in x if t not in {"a", "b", "c"}},
                  of="sparse features")
print(k.definition.digest, k.definition.captured)
"""


def test_a_function_without_source_has_the_same_digest_in_every_process():
    found = set()
    for seed in ("1", "2", "3"):
        env = os.environ | {
            "PYTHONPATH": str(Path(mercer.__file__).parents[1]), "PYTHONHASHSEED": seed
        }  # fmt: skip
        command = [sys.executable, "-c", DIGEST]
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
        found.add(done.stdout)
    assert len(found) == 1


MODULE = """
import mercer
FACTOR = {factor}

@mercer.kernel(of="objects")
def k(x, z):
    return float(sum(FACTOR * len(a) for a in (x, z)))
"""


def test_values_used_within_comprehensions_count(tmp_path):
    found = []
    for i, factor in enumerate((1.0, 3.0, 1.0)):
        file = tmp_path / f"{i}.py"
        file.write_text(MODULE.format(factor=factor))
        spec = importlib.util.spec_from_file_location("of_a_user", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found.append(module.k)
    assert found[0] == found[2] != found[1]


def test_a_function_without_a_value_is_told_so():
    with warnings.catch_warnings():
        warnings.simplefilter("error", InterpretedKernelWarning)  # that it is slow is not the point
        with pytest.raises(ValueError, match=r"must return a number .* returned None"):
            mercer.kernel(lambda x, z: None)(np.eye(3))


def test_functions_of_vectors_name_the_form_for_objects():
    with pytest.raises(ValueError, match=r"mercer\.kernel\(of='objects'\)"):
        written.gauss(["ab", "b"])


def test_an_index_beyond_the_columns_is_an_error():
    """Compiled code would read what lies behind the row."""

    @mercer.kernel
    def eighth(x, z):
        return x[7] * z[7]

    @mercer.kernel
    def neighbours(x, z):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * z[i + 1]
        return s

    for k in (eighth, neighbours, 2 * eighth + 1):
        with pytest.raises(ValueError, match=r"fails on rows of 3 columns: index [37] is out of"):
            k(np.ones((4, 3)))
    np.testing.assert_array_equal(eighth(np.full((2, 8), 3.0)), np.full((2, 2), 9.0))
    for new in (np.zeros((0, 3)), sp.csr_matrix((0, 3))):
        assert eighth(new).shape == (0, 0)
