"""Progress of a search as lines of text."""

from __future__ import annotations

from typing import Any

from mercer.model_selection._ledger import SearchProgress

__all__ = ["SearchLines"]


class SearchLines:
    """A callback that prints how far the search is, about once a second."""

    def __init__(self, name: str, inner: Any = None, every: float = 1.0):
        self.name, self.inner, self.every, self.last = name, inner, every, 0.0

    def __call__(self, progress: SearchProgress) -> Any:
        is_end = progress.done == progress.total
        if is_end or progress.seconds - self.last >= self.every:
            self.last = progress.seconds
            best = ", ".join(f"{k}={_short(v)}" for k, v in progress.best_params.items())
            left = "" if is_end else f", about {progress.seconds_left:.1f} s left"
            print(
                f"[{self.name}] {progress.done} of {progress.total} fits, "
                f"{progress.seconds:.1f} s{left}"
                + (f"; best {progress.best_score:.4f} at {best}" if best else "")
            )
        return None if self.inner is None else self.inner(progress)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
