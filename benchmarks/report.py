"""Ratios, geometric means, Markdown."""
from typing import Any
def summary(runs: list[dict[str, Any]]) -> str:
    return ""
def markdown(runs: list[dict[str, Any]], machine: dict[str, Any]) -> str:
    return ""
