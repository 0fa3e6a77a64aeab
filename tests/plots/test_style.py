"""The one style: distinguishable by colour-blind readers, and no user's settings changed."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations

import matplotlib
import numpy as np
import pytest

from mercer.plots import style

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(colour: str) -> np.ndarray:
    c = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    x = XYZ @ np.clip(rgb, 0, 1) / WHITE
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast_on_white(colour: str) -> float:
    return 1.05 / (float(XYZ[1] @ linear(colour)) + 0.05)


@pytest.mark.parametrize("eyes", VISION)
def test_classes_are_told_apart_by_colour(eyes):
    seen = [lab(VISION[eyes] @ linear(colour)) for colour in style.CLASSES]
    distances = {
        pair: np.linalg.norm(seen[pair[0]] - seen[pair[1]])
        for pair in combinations(range(len(seen)), 2)
    }
    # 2.3 is a just noticeable difference of two patches side by side; points need far more.
    assert min(distances.values()) > 12
    assert distances[0, 1] > 80  # two classes


def test_classes_are_told_apart_without_colour():
    pairs = [(style.class_colour(c), style.class_marker(c)) for c in range(72)]
    assert len(set(pairs)) == 72
    assert len(set(style.CLASSES)) == 12
    assert len({style.class_marker(c) for c in range(6)}) == 6


def test_groups_are_told_apart_without_colour():
    styles = {(group.fill > 0, group.edge) for group in style.GROUPS.values()}
    assert len(styles) == 3


def test_texts_are_legible_on_white():
    assert contrast_on_white(style.INK) > 7
    assert contrast_on_white(style.GREY) > 4.5
    assert contrast_on_white(style.BLUE) > 4.5


def test_tint_is_a_mixture_with_white():
    assert style.tint("#000000", 0.0) == "#FFFFFF"
    assert style.tint("#204060", 1.0) == "#204060"
    assert style.tint("#000000", 0.5) in ("#7F7F7F", "#808080")


def test_settings_are_those_of_matplotlib_and_come_back():
    before = dict(matplotlib.rcParams)
    with style.context():
        assert matplotlib.rcParams["axes.spines.top"] is False
    assert dict(matplotlib.rcParams) == before


def test_style_and_plots_are_imported_without_matplotlib():
    code = (
        "import sys, mercer.plots.style, mercer.plots, mercer.duality\n"
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_missing_matplotlib_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "mercer\[plots\]"'):
        style.context()
