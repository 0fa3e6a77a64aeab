/* SMO pair by pair: the plane, the box of the pair, and the dual value after every step. */
(function (root) {
  "use strict";
  const S = root.MercerSVM, D = root.MercerDraw;
  const CELLS = 24;
  const TOL = 1e-6; // of the violation

  root.MercerFigures.smo = function (host, options) {
    const points = options.points || D.TWELVE, y = points.map((p) => p[2]), C = options.C || 1;
    const k = S.kernel("linear");
    let s, history;
    const controls = D.el("div", { class: "mf-controls" }), views = D.el("div", { class: "mf-views" });
    const read = D.el("p", { class: "mf-read", "aria-live": "polite" });
    host.append(controls, views, read);
    const plane = D.panel(views, { x: [-1.7, 6.7], y: [-1.7, 6.7], names: ["x₁", "x₂"], label: "The boundary after this step" });
    const lines = ["mf-boundary", "mf-edge", "mf-edge"].map((name) => D.svg("path", { class: name }, plane.back));
    const marks = points.map((p) => {
      const node = D.svg("g", { transform: `translate(${plane.px(p[0])} ${plane.py(p[1])})` }, plane.front);
      D.svg("path", { d: p[2] > 0 ? D.SQUARE : D.DISC }, node);
      return node;
    });
    const side = D.el("div", { class: "mf-side" });
    views.append(side);
    side.append(D.el("p", { class: "mf-title" }, "the pair in its box, αᵢ across, αⱼ up"));
    const box = D.panel(side, { x: [0, C], y: [0, C], width: 240, height: 200, label: "Box of the pair" });
    const segment = D.svg("path", { class: "mf-edge" }, box.back), jump = D.svg("path", { class: "mf-boundary" }, box.back), end = D.svg("circle", { r: 5, class: "mf-end" }, box.front);
    side.append(D.el("p", { class: "mf-title" }, "dual value after each step"));
    const best = S.fit(points, y, C, k, TOL), last = Math.max(best.steps, 5);
    const trace = D.panel(side, { x: [0, last], y: [0, Math.max(best.dual * 1.1, 0.1)], width: 240, height: 150, label: "Dual value" });
    D.svg("path", { class: "mf-edge", d: `M${trace.px(0)} ${trace.py(best.dual)}H${trace.px(last)}` }, trace.back);
    const curve = D.svg("path", { class: "mf-boundary" }, trace.back);

    function show() {
      const m = S.describe(s), taken = history[history.length - 1];
      const values = m.norm > 1e-9 ? D.grid(plane, CELLS, m.decide) : null;
      [0, 1, -1].forEach((level, t) => D.set(lines[t], { d: values ? D.contour(plane, values, CELLS, level) : "" }));
      points.forEach((p, i) => {
        const group = m.alpha[i] === 0 ? "zero" : m.alpha[i] >= C ? "bound" : "free";
        marks[i].setAttribute("class", `mf-${p[2] > 0 ? "a" : "b"} mf-${group}${taken && (taken.i === i || taken.j === i) ? " mf-lit" : ""}`);
      });
      D.set(curve, { d: "M" + [0, ...history.map((h) => h.dual)].map((v, t) => `${trace.px(t)} ${trace.py(v)}`).join("L") });
      if (!taken) { for (const node of [segment, jump]) D.set(node, { d: "" }); D.set(end, { visibility: "hidden" }); read.textContent = "All α are 0. Press Step."; return; }
      const from = taken.before.map(Math.abs), to = taken.after.map(Math.abs), same = y[taken.i] === y[taken.j];
      const total = same ? from[0] + from[1] : from[1] - from[0];
      const low = same ? Math.max(0, total - C) : Math.max(0, -total), high = same ? Math.min(C, total) : Math.min(C, C - total);
      const other = (a) => (same ? total - a : total + a);
      D.set(segment, { d: `M${box.px(low)} ${box.py(other(low))}L${box.px(high)} ${box.py(other(high))}` });
      D.set(jump, { d: `M${box.px(from[0])} ${box.py(from[1])}L${box.px(to[0])} ${box.py(to[1])}` });
      D.set(end, { cx: box.px(to[0]), cy: box.py(to[1]), visibility: "visible" });
      const clipped = taken.delta < taken.wanted ? ", clipped at the box" : "";
      const done = S.select(s, TOL) ? "" : " No pair violates by more than 1e-6: done.";
      read.textContent = `Step ${history.length}: rows ${taken.i + 1} and ${taken.j + 1}, η = ${D.fixed(taken.eta, 1)}, δ = ${D.fixed(taken.delta, 3)}${clipped}; D = ${D.fixed(taken.dual, 4)} of ${D.fixed(best.dual, 4)}.${done}`;
    }
    function step() {
      const pair = S.select(s, TOL);
      if (!pair) return false;
      const taken = S.move(s, pair);
      taken.dual = S.describe(s).dual;
      history.push(taken);
      show();
      return true;
    }
    function reset() { s = S.start(points, y, C, k); history = []; show(); }
    const forward = D.button(controls, "Step", step);
    D.button(controls, "Back", () => { const count = Math.max(0, history.length - 1); reset(); for (let t = 0; t < count; t++) step(); });
    D.button(controls, "To the end", () => { for (let t = 0; t < 500 && step(); t++); });
    D.button(controls, "Start again", reset);
    controls.addEventListener("keydown", (event) => { if (event.key === "ArrowRight") { event.preventDefault(); forward.click(); } });
    reset();
    return { step, reset, history: () => history, best };
  };
})(window);
