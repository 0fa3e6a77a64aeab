"""Pictures of many classes, tasks and points stay readable, and say what their axes are."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.kernels import RBF, Linear, Normalize, Spectrum, WeightedDegree
from mercer.plots import KernelMatrixDisplay, LossDisplay, draw, style, write_figure
from mercer.plots._base import shortened
from mercer.plots._fitted import kernel_words

X, y = make_moons(60, noise=0.2, random_state=0)


def legend(display) -> list[str]:
    return [text.get_text() for text in display.axes_[-1].get_legend().get_texts()]


def test_ten_classes_have_ten_colours_and_named_regions():
    rows, codes = make_blobs(200, centers=10, cluster_std=0.5, random_state=3)
    names = np.array([f"class {c}" for c in range(10)])
    model = mercer.SVC().fit(rows, names[codes])
    display = draw("boundary", model, rows, names[codes])
    assert len({style.class_colour(c) for c in display.codes}) == 10
    texts = {text.get_text(): text.get_position() for text in display.ax_.texts}
    named = [name for name in names if name in texts]
    assert len(named) >= 8  # small regions may have no room
    for name in named:
        assert model.predict([texts[name]])[0] == name


def test_names_beside_a_kernel_matrix_do_not_overlap():
    sizes = [200, 150, 3, 3, 2, 2, 80, 4, 4, 60, 2, 2]
    codes = np.repeat(np.arange(12), sizes)
    names = np.array([f"species {c}" for c in range(12)])[codes]
    rows = np.random.default_rng(0).normal(size=(codes.size, 2)) + codes[:, np.newaxis]
    display = KernelMatrixDisplay.from_kernel("rbf", rows, names)
    display.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in display.ax_.get_yticklabels()]
    assert 4 <= len(boxes) < 12
    assert not any(one.overlaps(two) for one, two in combinations(boxes, 2))
    shown = [label.get_text() for label in display.ax_.get_yticklabels()]
    for c in (0, 1, 6, 9):  # the large classes keep their names
        assert f"species {c} ({sizes[c]})" in shown
    assert f"{12 - len(boxes)} small ones without a name" in display.ax_.get_xlabel()


@pytest.mark.parametrize("kind", ["boundary", "kkt", "kernel", "weights"])
def test_long_names_leave_room_for_the_picture(kind, tmp_path):
    """Names of 45 letters (columns: more) do not leave the figure, nor take it from the axes."""
    rows, codes = make_blobs(240, centers=12, random_state=4)
    names = np.array([f"a class whose name is long and ends in its number {c}" for c in range(12)])
    data = pd.DataFrame(rows, columns=["the first of two columns, " + 80 * "x", "other" * 30])
    model = mercer.LinearSVC() if kind == "weights" else mercer.SVC()
    display = draw(kind, model.fit(data, names[codes]), data, names[codes])
    write_figure(display, tmp_path / "picture.png")
    ax, all_of_it = display.ax_, display.figure_.bbox
    inside = ax.get_window_extent()
    assert inside.width > 0.4 * all_of_it.width
    assert inside.height > 0.5 * all_of_it.height
    drawn, (width, height) = display.figure_.get_tightbbox(), display.figure_.get_size_inches()
    assert -0.02 < drawn.x0 < drawn.x1 < width + 0.02
    assert -0.02 < drawn.y0 < drawn.y1 < height + 0.02
    if kind == "boundary":
        regions = [t.get_window_extent() for t in ax.texts if "…" in t.get_text()]
        assert len(regions) >= 3
        assert not any(one.overlaps(two) for one, two in combinations(regions, 2))
        assert all(inside.x0 <= box.x0 and box.x1 <= inside.x1 for box in regions)


def test_a_legend_of_a_boundary_takes_no_width_and_covers_no_words(tmp_path):
    """It stands below the name of the axis, and what is said of a slice stands below it."""
    frame = load_iris(as_frame=True)
    columns = ["petal length (cm)", "petal width (cm)"]
    model = mercer.SVC().fit(frame.data, frame.target)
    for display in (
        draw("boundary", mercer.SVC().fit(X, y), X, y),
        draw("boundary", model, frame.data, frame.target, features=columns),
    ):
        write_figure(display, tmp_path / "picture.png")
        ax = display.ax_
        inside, words = ax.get_window_extent(), ax.get_legend().get_window_extent()
        assert inside.width > 0.85 * display.figure_.bbox.width
        assert words.y1 < ax.xaxis.label.get_window_extent().y0
        assert display.figure_.bbox.x0 <= words.x0 < words.x1 <= display.figure_.bbox.x1
        said = [t for t in ax.texts if t.get_text().replace("\n", " ") == display.caveat]
        assert len(said) == bool(display.caveat)
        assert all(text.get_window_extent().y1 < words.y0 for text in said)


def test_cut_names_stay_different():
    assert shortened(["short", 30 * "a" + " b", 30 * "a" + " c"], 20) == [
        "short", 13 * "a" + "…aaaa b", 13 * "a" + "…aaaa c"
    ]  # fmt: skip
    twins = ["begins alike 1" + 30 * "-" + "ends alike", "begins alike 1" + 31 * "-" + "ends alike"]
    assert shortened(twins, 20) == twins


def test_many_tasks_that_report_their_start_are_a_bundle():
    """A linear machine reports a gap before its first step."""
    rows, codes = make_blobs(120, centers=10, random_state=1)
    display = draw("gap", mercer.LinearSVC(), rows, codes)
    median = next(line for line in display.ax_.lines if line.get_label() == "median of the tasks")
    first = {p.task: p.relative_gap for p in reversed(display.trace.points)}
    assert median.get_xdata()[0] == 0
    assert median.get_ydata()[0] == pytest.approx(np.exp(np.median(np.log([*first.values()]))))


def test_many_tasks_are_a_bundle():
    rows, codes = make_blobs(150, centers=6, cluster_std=2.0, random_state=1)
    display = draw("gap", mercer.SVC(), rows, codes)
    assert len(display.names) == 15
    entries = legend(display)
    assert entries[0] == "15 tasks"
    last = {t: max(p.iterations for p in display.trace.points if p.task == t) for t in range(15)}
    longest = max(last, key=last.__getitem__)
    assert entries[2].startswith(display.names[longest])
    few = draw("gap", mercer.SVC(), rows[codes < 3], codes[codes < 3])
    assert legend(few) == few.names


def test_weights_of_many_tasks_have_one_look():
    rows, codes = make_blobs(150, centers=6, n_features=4, random_state=1)
    many = draw("weights", mercer.SVC(kernel="linear").fit(rows, codes), rows)
    assert legend(many) == ["each of 15 tasks"]
    some = draw("weights", mercer.LinearSVC().fit(rows, codes), rows)
    assert legend(some) == [f"{c} / rest" for c in range(6)]


def test_axes_have_the_columns_units_and_the_target_s_name():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"width (cm)": rng.uniform(100, 300, 80), "age": rng.uniform(0, 9, 80)})
    price = pd.Series(5 * data["width (cm)"], name="price in €")
    model = make_pipeline(StandardScaler(), mercer.SVR(C=100.0)).fit(data, price)
    ax = draw("tube", model, data, price, feature="width (cm)").ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width (cm)", "price in €")
    low, high = ax.get_xlim()  # not those of the standardised column
    assert low < data["width (cm)"].min() < data["width (cm)"].max() < high
    assert high - low < 300


def test_a_dense_tube_has_its_curve_on_top_of_small_points():
    rng = np.random.default_rng(0)
    rows = rng.uniform(0, 6, (2000, 1))
    dense = draw("tube", mercer.LinearSVR(epsilon=0.1).fit(rows, rows[:, 0]), rows, rows[:, 0])
    few = draw("tube", mercer.LinearSVR(epsilon=0.1).fit(rows, rows[:, 0]), rows[:9], rows[:9, 0])
    areas = [max(c.get_sizes().max() for c in each.ax_.collections if c.get_offsets().size
                 and len(c.get_sizes())) for each in (dense, few)]  # fmt: skip
    curves = [line for line in dense.ax_.lines if line.get_label() == "f"]
    assert curves[0].get_zorder() > max(c.get_zorder() for c in dense.ax_.collections)
    assert areas[0] <= areas[1]
    assert style.SETTINGS.crowd(2000) < style.SETTINGS.crowd(500) < style.SETTINGS.crowd(9) == 1


def test_edges_of_a_linear_machine_are_perpendicular_to_w():
    linear = draw("boundary", mercer.SVC(kernel="linear").fit(X, y), X, y)
    assert linear.ax_.get_aspect() == 1
    assert draw("boundary", mercer.SVC().fit(X, y), X, y).ax_.get_aspect() == "auto"
    wide = X * [1000.0, 1.0]  # one scale would make a strip of it
    model = mercer.LinearSVC().fit(wide, y)
    assert draw("boundary", model, wide, y).ax_.get_aspect() == "auto"


def test_the_zero_one_loss_is_upright():
    display = LossDisplay.from_names(at=[-1.0, -0.4, 0.7, 2.0])
    x, loss = next(line for line in display.ax_.lines if line.get_label() == "zero-one").get_data()
    assert all(x[i] == x[i + 1] for i in np.flatnonzero(np.diff(loss)))
    assert x[np.flatnonzero(np.diff(loss))].tolist() == [0.0]


def test_a_violation_beside_the_gap_is_on_the_axis():
    display = draw("gap", mercer.SVC(tol=1e-4), X, y)
    assert "violation" in display.axes_[-1].get_ylabel()
    assert "tol of the violation = 0.0001" in legend(display)
    linear = draw("gap", mercer.LinearSVC(tol=1e-6), X, y)
    assert linear.axes_[-1].get_ylabel() == "relative gap"
    assert "tol of the relative gap = 1e-06" in legend(linear)


def test_titles_are_words_and_the_certificate_stands_below():
    model = mercer.SVC(gamma=0.5, C=np.inf).fit([[0.0], [1.0]], [0, 1])
    display = draw("kkt", model, [[0.0], [1.0]], [0, 1])
    assert display.title == "SVC · RBF kernel, γ = 0.5 · hinge · C = ∞"
    words = [text.get_text() for text in display.ax_.texts]
    assert any(text.startswith("solved: objective within") for text in words)
    summed = mercer.SVC(kernel=RBF(0.5) + Linear()).fit(X, y)
    assert "RBF(gamma=0.5) + Linear()" in draw("kkt", summed, X, y).title


@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}, {"fit_intercept": False}])
def test_crammer_singer_has_a_boundary(options):
    rows, codes = load_iris(return_X_y=True)
    model = mercer.LinearSVC(multi_class="crammer_singer", loss="hinge", max_iter=-1, **options)
    display = draw("boundary", model.fit(rows, codes), rows, codes)
    wrong = int((model.predict(rows) != codes).sum())
    assert int((display.groups == 2).sum()) == wrong
    two = model.fit(rows[:100], codes[:100])
    assert draw("boundary", two, rows[:100], codes[:100]).alpha is not None


def test_the_command_line_draws_in_the_units_of_the_file(tmp_path, monkeypatch):
    from mercer.cli import _plot
    from mercer.data import read_table

    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"width": rng.uniform(100, 300, 60), "age": rng.uniform(0, 9, 60)})
    rows["price"] = 3.5 * rows["width"]
    rows.to_csv(tmp_path / "rooms.csv", index=False)
    table = read_table(tmp_path / "rooms.csv", target="price", scale="standard")
    model = mercer.SVR(C=100.0).fit(table.X, table.y)
    drawn = []
    monkeypatch.setattr(_plot, "write_figure", lambda display, path: drawn.append(display))
    for kind, options in (("tube", {"feature": 0}), ("spectrum", {})):
        _plot.draw(kind, "m", model, table.schema, table.X, table.y, "x.png", **options)
    ax = drawn[0].ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "price")
    assert ax.get_xlim()[0] > 50
    assert np.sort(drawn[0].points[:, 0]) == pytest.approx(np.sort(rows["width"]))


def test_a_common_factor_is_beside_the_certificate():
    rows = np.random.default_rng(0).normal(size=(50, 1))
    targets = 3e6 * rows[:, 0]
    model = mercer.SVR(C=1e7, epsilon=1e5).fit(rows, targets)
    display = draw("tube", model, rows, targets)
    display.figure_.draw_without_rendering()
    factor = display.ax_.yaxis.get_offset_text()
    assert factor.get_text()
    (stated,) = (t for t in display.ax_.texts if "of the optimum" in t.get_text())
    assert not factor.get_window_extent().overlaps(stated.get_window_extent())


def test_numbers_along_an_axis_do_not_overlap():
    rows = np.random.default_rng(0).normal(size=(80, 1))
    targets = 3e5 * np.sin(3 * rows[:, 0])
    display = draw("kkt", mercer.SVR(C=1e4, epsilon=1e4).fit(rows, targets), rows, targets)
    display.figure_.draw_without_rendering()
    boxes = [label.get_window_extent() for label in display.ax_.get_xticklabels()]
    gaps = [two.x0 - one.x1 for one, two in pairwise(sorted(boxes, key=lambda box: box.x0))]
    assert min(gaps) > 5


def test_the_certificate_of_a_picture_is_a_bound():
    model = mercer.SVC().fit(X, y)
    display = draw("boundary", model, X, y)
    (stated,) = (t.get_text() for t in display.ax_.texts if "of the optimum" in t.get_text())
    shown = float(stated.partition("within ")[2].partition(" %")[0]) / 100
    assert shown >= model.certificate_.relative_gap


def test_a_long_kernel_is_cut_between_names():
    kernel = sum((RBF(gamma=10.0**k) for k in range(-3, 4)), Linear())
    model = mercer.SVC(kernel=kernel).fit(X, y)
    title = draw("boundary", model, X, y).ax_.get_title(loc="left").splitlines()[0]
    begin = title.partition(" · ")[2].partition("…")[0]
    assert repr(kernel).startswith(begin)
    assert not repr(kernel)[len(begin)].isalnum()


@pytest.mark.parametrize(
    ("kernel", "words", "short"),
    [
        (RBF(0.5), "RBF kernel, γ = 0.5", "RBF kernel"),
        (Spectrum(k=(3, 4)), "Spectrum kernel, k = (3, 4)", "Spectrum kernel"),
        (
            Normalize(Spectrum(k=3)),
            "normalised Spectrum kernel, k = 3",
            "normalised Spectrum kernel",
        ),
        (
            WeightedDegree(degree=6, shift=2),
            "Weighted degree kernel, degree = 6, shift = 2",
            "Weighted degree kernel",
        ),
        (0.5 * RBF(1.0) + Linear(), "0.5 * RBF(gamma=1.0) + Linear()", None),
    ],
)
def test_kernels_are_named_in_words(kernel, words, short):
    assert kernel_words(kernel) == words
    assert kernel_words(kernel, False) == (words if short is None else short)
