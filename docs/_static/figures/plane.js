/* Points in the plane, a machine fitted at every move; bars of α, kernel matrix and numbers linked to the points. */
(function (root) {
  "use strict";
  const S = root.MercerSVM, D = root.MercerDraw, R = root.MercerRows;
  const CELLS = 48;

  root.MercerFigures.plane = function (host, options) {
    const points = (options.points || [...D.TWELVE, ...(options.extra || [])]).map((p) => p.slice());
    const state = { logC: options.C === "inf" ? 3 : Math.log10(options.C || 1), logGamma: Math.log10(options.gamma || 0.1), kernel: options.kernel || "linear" };
    const controls = D.el("div", { class: "mf-controls" });
    const views = D.el("div", { class: "mf-views" });
    const read = D.el("p", { class: "mf-read", "aria-live": "polite" });
    host.append(controls, views);
    D.key(host);
    host.append(read);
    const view = D.panel(views, { x: [-1.7, 6.7], y: [-1.7, 6.7], names: ["x₁", "x₂"], label: "Plane with draggable points. Arrow keys move a chosen point, F changes its label." });
    const side = D.el("div", { class: "mf-side" });
    views.append(side);
    const lines = ["mf-boundary", "mf-edge", "mf-edge"].map((name) => D.svg("path", { class: name }, view.back));
    const bars = R.bars(side, points), cells = R.matrix(side, points);
    const cost = () => (state.logC >= 3 ? Infinity : 10 ** state.logC);

    const shown = { model: null };
    const discs = { light: (rows) => marks.forEach((m, i) => m.node.classList.toggle("mf-lit", rows.includes(i))) };
    const link = R.link([discs, bars, cells], () => describe(shown.model));
    const marks = points.map((p, i) => D.handle(view, {
      shape: p[2] > 0 ? D.SQUARE : D.DISC, label: "",
      moved: (q) => { p[0] = q[0]; p[1] = q[1]; draw(); },
      key: (event) => { if (event.key === "f" || event.key === "F") relabel.click(); },
      ...link.of(i),
    }));

    function describe(m) {
      const number = D.fixed, C = cost();
      if (m.none) { read.textContent = "No boundary was found that separates these points: choose a finite C."; return; }
      const free = m.alpha.filter((a) => a > 1e-9 && a < C - 1e-9).length, bound = m.alpha.filter((a) => a >= C - 1e-9).length;
      const where = state.kernel === "linear" ? `w = (${number(m.w[0], 2)}, ${number(m.w[1], 2)}), ` : "";
      const b = m.high - m.low > 1e-6 ? `b between ${number(m.low, 2)} and ${number(m.high, 2)}` : `b = ${number(m.b, 2)}`;
      read.textContent = `${m.solved ? "" : "Stopped before the optimum. "}${where}${b}, width ${number(2 / m.norm, 2)}. Support vectors: ${free} free, ${bound} at the bound. Dual ${number(m.dual, 3)}, primal ${number(m.primal, 3)}.${R.words(m, points, link.chosen())}`;
    }

    function draw() {
      const k = S.kernel(state.kernel, 10 ** state.logGamma), C = cost();
      const m = S.fit(points, points.map((p) => p[2]), C, k);
      m.none = !m.solved && C === Infinity;
      if (m.none) m.alpha = m.alpha.map(() => 0); // they grew without end: no optimum, no support vectors
      shown.model = m;
      const values = m.none ? null : D.grid(view, CELLS, m.decide);
      [0, 1, -1].forEach((level, t) => D.set(lines[t], { d: values ? D.contour(view, values, CELLS, level) : "" }));
      points.forEach((p, i) => {
        const group = m.alpha[i] <= 1e-9 ? "zero" : m.alpha[i] >= C - 1e-9 ? "bound" : "free";
        marks[i].put(p);
        D.set(marks[i].mark, { d: p[2] > 0 ? D.SQUARE : D.DISC });
        marks[i].node.setAttribute("class", `mf-point mf-${p[2] > 0 ? "a" : "b"} mf-${group}`);
        marks[i].name(`Row ${i + 1}, ${p[2] > 0 ? "positive" : "negative"}, at ${D.fixed(p[0], 1)}, ${D.fixed(p[1], 1)}, alpha ${D.fixed(m.alpha[i], 2)}`);
      });
      bars.draw(m.alpha, points, C); cells.draw(m.K);
      link.show();
      describe(m);
    }

    const kinds = D.el("select", { "aria-label": "Kernel" }, ...[["linear", "straight line"], ["rbf", "Gaussian kernel"]].map(([value, text]) => D.el("option", value === state.kernel ? { value, selected: "" } : { value }, text)));
    kinds.addEventListener("change", () => { state.kernel = kinds.value; gamma.parentNode.hidden = state.kernel !== "rbf"; draw(); });
    controls.append(kinds);
    D.slider(controls, { label: "C", min: -2, max: 3, step: 0.05, value: state.logC, show: (v) => (v >= 3 ? "∞" : D.tidy(10 ** v)), change: (v) => { state.logC = v; draw(); } });
    const gamma = D.slider(controls, { label: "γ", min: -2, max: 1.5, step: 0.05, value: state.logGamma, show: (v) => D.tidy(10 ** v), change: (v) => { state.logGamma = v; draw(); } });
    gamma.parentNode.hidden = state.kernel !== "rbf";
    const chosen = { row: 0 };
    const relabel = D.button(controls, "", () => { points[chosen.row][2] *= -1; draw(); });
    const choose = (i) => { chosen.row = i; relabel.textContent = `Other label for row ${i + 1}`; };
    marks.forEach((mark, i) => mark.node.addEventListener("focus", () => choose(i)));
    choose(0);
    draw();
    return { draw, points, marks, model: () => shown.model, state };
  };
})(window);
