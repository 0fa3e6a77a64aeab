"""Kernel functions as a user writes them, importable by other processes."""

from __future__ import annotations

import math

import numpy as np

import mercer

HALF = 0.5


@mercer.kernel(psd=True)
def gauss(x, z, gamma=1.0):
    """exp(−γ‖x − z‖²)."""
    return np.exp(-gamma * np.sum((x - z) ** 2))


@mercer.kernel(psd=True)
def manhattan(x, z, gamma=0.2):
    return np.exp(-gamma * np.abs(x - z).sum())


@mercer.kernel(psd=True)
def power(x, z, degree=3, c=1.0):
    return (HALF * (x @ z) + c) ** degree


@mercer.kernel
def of_dots(dot, xx, zz, gamma=0.1):
    return math.exp(-gamma * (xx + zz - 2 * dot))


@mercer.kernel
def of_matrices(X, Z, scale=2.0):
    return scale * (X @ Z.T)


@mercer.kernel
def squares(x, weight=1.0):
    return np.concatenate([x, weight * x**2])


@mercer.kernel(of="sparse features")
def letters(text, weight=1.0):
    return {letter: weight * text.count(letter) for letter in text}


@mercer.kernel(of="objects")
def common(x, z):
    return len(set(x) & set(z))
