"""Strong duality and a duality gap, drawn: the image of the box and the dual function.

python examples/duality.py [--out FILE]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from mercer.duality import Program, draw_dual, draw_image
from mercer.plots import style
from mercer.plots import write_figure

SQUARE = [(-2, 2), (-2, 2)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/duality.png"), help="the picture")
    path = parser.parse_args().out
    path.parent.mkdir(parents=True, exist_ok=True)
    programs = {
        "g = 1 − w₂": Program(lambda a, b: a**2 + b**2, SQUARE, [lambda a, b: 1 - b]),
        "g = 1 − w₂ + w₁² − ½w₁⁴": Program(
            lambda a, b: a**2 + b**2, SQUARE, [lambda a, b: 1 - b + a**2 - a**4 / 2]
        ),
    }
    with style.context():
        figure, axes = style.pyplot().subplots(2, 2, figsize=(10.4, 8), layout="constrained")
        for (left, right), (name, program) in zip(axes, programs.items(), strict=True):
            found = program.solve()
            draw_image(program, found, others=[found.alpha[0] / 2], ax=left)
            draw_dual(program, found, ax=right)
            left.set_title(f"min w₁² + w₂², {name} ≤ 0", loc="left")
            right.set_title(f"p* − d* = {max(found.gap, 0):.4g}", loc="left")
            print(
                f"{name}: p* = {found.primal:.6g}, d* = {found.dual:.6g}, α* = {found.alpha[0]:.6g}"
            )
    write_figure(figure, path, dpi=90)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
