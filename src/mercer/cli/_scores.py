"""Scores of predictions: svm-predict's lines, and what says more than they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_outlier_detector
from sklearn.metrics import (
    confusion_matrix,
    mean_absolute_error,
    r2_score,
    recall_score,
    root_mean_squared_error,
)

__all__ = ["SETTINGS", "baseline", "describe_constant", "describe_scores", "is_scored", "score"]


@dataclass(frozen=True)
class ScoreSettings:
    """What is computed and shown.

    Attributes
    ----------
    held_out : fraction of the rows that a trained model is tested on, by a fit of the others
    max_rows : rows that this second fit uses at most, so that it takes less time than the first
    search_part : of the time limit of a search; the rest is for a fit of all rows after it
    min_rows : with fewer rows nothing is held out
    shown_classes : classes up to which the confusion matrix is printed
    """

    held_out: float = 0.2
    max_rows: int = 5000
    search_part: float = 0.8
    min_rows: int = 20
    shown_classes: int = 8


SETTINGS = ScoreSettings()


def score(y: Any, predicted: Any, task: str | None) -> dict[str, Any]:
    """The scores of predictions, by name."""
    y, predicted = np.asarray(y), np.asarray(predicted)
    if task == "classification":
        labels = np.union1d(y, predicted)
        present = np.unique(y)
        recall = recall_score(y, predicted, labels=present, average=None, zero_division=0)
        return {
            "accuracy": float(np.mean(predicted == y)),
            "balanced_accuracy": float(np.mean(recall)),
            "recall": {str(label): float(r) for label, r in zip(present, recall, strict=True)},
            "labels": labels.tolist(),
            "confusion": confusion_matrix(y, predicted, labels=labels).tolist(),
        }
    y, predicted = y.astype(np.float64), predicted.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        squared = float(np.corrcoef(y, predicted)[0, 1] ** 2) if y.size > 1 else float("nan")
    return {
        "mean_squared_error": float(np.mean((y - predicted) ** 2)),
        "squared_correlation": squared,
        "rmse": float(root_mean_squared_error(y, predicted)),
        "mae": float(mean_absolute_error(y, predicted)),
        "r2": float(r2_score(y, predicted)) if y.size > 1 else float("nan"),
    }


def baseline(y_train: Any, y: Any, task: str | None) -> dict[str, Any]:
    """The scores of the best constant: the most frequent class, or the mean."""
    if task == "classification":
        labels, counts = np.unique(y_train, return_counts=True)
        constant = labels[np.argmax(counts)]
    else:
        constant = np.mean(y_train)
    return score(y, np.full(len(y), constant), task) | {"constant": constant}


def describe_constant(found: dict[str, Any]) -> str:
    """What `baseline` scores, in a few words."""
    if "accuracy" in found:
        return f"always {str(found['constant'])!r}: {100 * found['accuracy']:.3g} %"
    return f"the mean of the others: RMSE {found['rmse']:.4g}"


def describe_scores(found: dict[str, Any], n: int, prefix: str = "") -> str:
    """Lines of text: first those of svm-predict."""
    if "accuracy" in found:
        right = round(found["accuracy"] * n)
        line = f"{prefix}Accuracy = {100 * found['accuracy']:.6g}% ({right}/{n}) (classification)"
        return "\n".join([line, *_confusion_lines(found)])
    return (
        f"{prefix}Mean squared error = {found['mean_squared_error']:.6g} (regression)\n"
        f"{prefix}Squared correlation coefficient = {found['squared_correlation']:.6g} "
        f"(regression)\n"
        f"{prefix}RMSE = {found['rmse']:.6g}, MAE = {found['mae']:.6g}, R² = {found['r2']:.6g}"
    )


def _confusion_lines(found: dict[str, Any]) -> list[str]:
    """Rows of true classes, columns of predicted ones; of many classes the lowest recalls alone."""
    labels, recall = [str(label) for label in found["labels"]], found["recall"]
    if len(labels) > SETTINGS.shown_classes:
        worst = sorted(recall, key=recall.__getitem__)[: SETTINGS.shown_classes]
        return ["lowest recalls: " + ", ".join(f"{label} {recall[label]:.3f}" for label in worst)]
    width = max(len("true class"), *map(len, labels))
    sizes = [max(len(label), 6) for label in labels]
    names = "  ".join(f"{label:>{size}}" for label, size in zip(labels, sizes, strict=True))
    lines = [f"{'true class':<{width}}  {names}  recall"]
    for label, counts in zip(labels, found["confusion"], strict=True):
        if label in recall:
            cells = "  ".join(f"{k:>{size},}" for k, size in zip(counts, sizes, strict=True))
            lines.append(f"{label:<{width}}  {cells}  {recall[label]:6.3f}")
    return lines


def is_scored(fitted: Any, y: np.ndarray) -> bool:
    """A one-class SVM predicts ±1; other targets cannot be compared with that."""
    return not is_outlier_detector(fitted) or set(y.tolist()) <= {-1, 1}
