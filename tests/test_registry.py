"""One entry makes a kernel, an estimator or a solver known everywhere."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer.estimators import _registry as estimators
from mercer.kernels import RBF, as_kernel
from mercer.kernels import _registry as kernels
from mercer.kernels._reference import kernel_matrix
from mercer.persistence import open_model
from mercer.playground._catalogue import ESTIMATORS as PLAYGROUND_ESTIMATORS
from mercer.playground._catalogue import KERNELS as PLAYGROUND_KERNELS
from mercer.solvers import _registry as solvers
from tests.estimators.conformance import EstimatorConformance
from tests.estimators.weights import with_tol
from tests.kernels.conformance import KernelConformance
from tests.oracles.naive_kernels import NAIVE
from tests.registry_toys import ESTIMATOR, ToyKernel, ToySolver, ToySVC, register, unregister
from tests.solvers.conformance import ONE_GROUP, SolverConformance

ROOT = Path(__file__).parent.parent
NAIVE["ToyKernel"] = lambda x, z, gamma: 0.5 + 0.5 * np.exp(-gamma * np.abs(x - z).sum())


def _rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    return X, (X[:, 0] + 0.5 * rng.normal(size=80) > 0).astype(int)


X, y = _rows()


@pytest.fixture
def toys():
    """The toy kernel, estimator and solver, registered for the time of a test."""
    register()
    yield
    unregister()


class TestToyKernel(KernelConformance):
    kernel = ToyKernel(gamma=0.2)


class TestToySolver(SolverConformance):
    solver, problems = ToySolver(), ONE_GROUP


@pytest.mark.usefixtures("toys")
class TestToySVC(EstimatorConformance):
    estimator = ToySVC(kernel=ToyKernel(gamma=0.2), solver="toy")


@pytest.mark.filterwarnings("default")
@parametrize_with_checks([ToySVC()])
def test_scikit_learns_checks_of_the_toy(estimator, check):
    check(with_tol(estimator, check, 1e-9))


def test_a_registered_solver_is_known_by_name(toys):
    model = mercer.SVC(solver="toy", tol=1e-8).fit(X, y)
    assert repr(model.solver_) == "toy: asked for"
    best = mercer.SVC(tol=1e-8).fit(X, y).certificate_
    assert model.certificate_.primal == pytest.approx(best.primal, rel=1e-7)
    with pytest.raises(ValueError, match="solver='toy' cannot solve the problem of NuSVC"):
        mercer.NuSVC(solver="toy", nu=0.2).fit(X, y)


def test_a_registered_kernel_is_known_by_name(toys):
    assert as_kernel("toy", gamma=0.3) == ToyKernel(0.3)
    assert mercer.SVC(kernel="toy", gamma=0.5).fit(X, y).kernel_ == ToyKernel(0.5)
    assert mercer.KernelRidge(kernel="toy", gamma=0.5).fit(X, y).kernel_ == ToyKernel(0.5)
    expected = 0.5 + 0.5 * np.exp(-0.3 * cdist(X, X, "cityblock"))
    rows = np.arange(len(X))
    np.testing.assert_allclose(kernel_matrix(ToyKernel(0.3), X, rows), expected, rtol=1e-14)


def test_parameter_checks_can_be_pickled():
    """Subclasses in a notebook copy them, and are sent to other processes by value."""
    allowed = pickle.loads(pickle.dumps(mercer.SVC._parameter_constraints["kernel"][0]))
    assert set(allowed.options) == set(kernels.KernelNames())


def test_names_that_are_not_registered_are_refused():
    with pytest.raises(ValueError, match="'solver' parameter"):
        mercer.SVC(solver="toy").fit(X, y)
    with pytest.raises(ValueError, match="'toy'"):
        as_kernel("toy")
    with pytest.raises(ValueError, match="'kernel' parameter"):
        mercer.SVC(kernel="toy").fit(X, y)


def test_a_name_is_registered_once(toys):
    for add, entry in (
        (kernels.register_kernel, kernels.KernelEntry("a:Other", names=("toy",))),
        (estimators.register_estimator, estimators.EstimatorEntry("a:Other", cli_name="svc")),
    ):
        with pytest.raises(ValueError, match=r"toy|a:Other"):
            add(entry)
    for name in ("toy", "smo", "auto"):
        with pytest.raises(ValueError, match=f"there is a solver '{name}' already"):
            solvers.register_solver(name, "a:Other")


@pytest.mark.parametrize("kernel", ["toy", ToyKernel(0.5), ToyKernel(0.5) + 2 * RBF(0.1)])
def test_registered_models_are_saved_and_verified(toys, tmp_path, kernel):
    model = ToySVC(kernel=kernel, **({"gamma": 0.5} if kernel == "toy" else {})).fit(X, y)
    mercer.save(model, tmp_path / "toy.mercer")
    loaded = mercer.load(tmp_path / "toy.mercer")
    assert type(loaded) is ToySVC
    assert loaded.kernel_ == model.kernel_
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    proof = mercer.verify(loaded, X, y)
    assert proof.status is mercer.Status.SOLVED
    assert proof.gap_low <= model.certificate_.gap
    assert proof.primal == pytest.approx(model.certificate_.primal, rel=1e-9)


def test_a_subclass_without_an_entry_is_verified_as_its_base(tmp_path):
    model = ToySVC().fit(X, y)
    assert mercer.verify(model, X, y).status is mercer.Status.SOLVED
    with pytest.raises(TypeError, match="ToySVC"):
        mercer.save(model, tmp_path / "toy.mercer")


def test_estimators_without_a_certificate_are_refused_by_verify():
    with pytest.raises(TypeError, match=r"SVC, .* or KernelPCA, got KernelKMeans"):
        mercer.verify(mercer.KernelKMeans(2).fit(X), X)


@pytest.mark.filterwarnings("ignore::mercer.kernels.IndefiniteKernelWarning")
def test_every_entry_leads_somewhere():
    for entry in (*kernels.KERNELS.values(), *estimators.ESTIMATORS.values()):
        assert entry.load().__name__ == entry.class_name
    for entry in kernels.KERNELS.values():
        for path in filter(None, (entry.reference, entry.precise)):
            assert callable(kernels.load_path(path))
        if entry.names:
            kernel = entry.make(gamma=0.5, degree=2, coef0=1.0)
            assert kernels.kernel_entry(kernel) is entry
    for name, path in solvers.NAMES.items():
        assert kernels.load_path(path).name == name
    for entry in estimators.ESTIMATORS.values():
        assert entry.verify == "" or callable(kernels.load_path(entry.verify))
    shown = {entry.playground for entry in estimators.ESTIMATORS.values() if entry.playground}
    assert shown == set(PLAYGROUND_ESTIMATORS)
    assert set(PLAYGROUND_KERNELS) < set(kernels.KernelNames())


SCRIPT = """
import sys
from tests.registry_toys import register
register()
from mercer.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_the_command_line_takes_registered_names(tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=y)
    words = "train data.npz --machine toy-svc --kernel toy --gamma 0.5 --verify -o toy.mercer"
    words += " --solver toy"
    path = [str(ROOT / "src"), str(ROOT)]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path}\n{SCRIPT}", *words.split()],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "toy-svc" in done.stdout
    assert "verdict" in done.stdout


def test_files_of_registered_models_need_the_registration(toys, tmp_path):
    mercer.save(ToySVC(kernel=ToyKernel(0.5)).fit(X, y), tmp_path / "toy.mercer")
    assert open_model(tmp_path / "toy.mercer").header["class"] == "ToySVC"
    del estimators.ESTIMATORS["ToySVC"]
    try:
        with pytest.raises(mercer.FileError, match="there is no class 'ToySVC'"):
            mercer.load(tmp_path / "toy.mercer")
    finally:
        estimators.register_estimator(ESTIMATOR)
