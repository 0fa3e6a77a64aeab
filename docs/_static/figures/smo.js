/* SMO pair by pair: the plane, the box of the pair, the dual value after every step, bars of α, kernel matrix; linked row by row. */
(function (root) {
  "use strict";
  const S = root.MercerSVM, D = root.MercerDraw, R = root.MercerRows;
  const CELLS = 24;
  const TOL = 1e-6; // of the violation
  const MOST = 1000; // steps

  root.MercerFigures.smo = function (host, options) {
    const points = [...D.TWELVE, ...(options.extra || [])], C = options.C || 1, y = points.map((p) => p[2]);
    const solver = pairSteps(points, y, C);
    const controls = D.el("div", { class: "mf-controls" }), views = D.el("div", { class: "mf-views" });
    const side = D.el("div", { class: "mf-side" }), under = D.el("div", { class: "mf-under" });
    const read = D.el("p", { class: "mf-read", "aria-live": "polite" });
    host.append(controls, views);
    D.key(host);
    host.append(read);
    const plane = D.panel(views, { x: [-1.7, 6.7], y: [-1.7, 6.7], names: ["x₁", "x₂"], label: "The boundary after this step. A row that is chosen, with Tab or the pointer, is marked in all views." });
    views.append(side, under);
    const lines = ["mf-boundary", "mf-edge", "mf-edge"].map((name) => D.svg("path", { class: name }, plane.back));
    const box = pairBox(side, y, C), bars = R.bars(side, points);
    const trace = dualTrace(under.appendChild(D.el("div")), solver), cells = R.matrix(under.appendChild(D.el("div")), points);
    const discs = { light: (rows) => marks.forEach((mark, i) => mark.node.classList.toggle("mf-lit", rows.includes(i))) };
    const link = R.link([discs, bars, cells, trace], describe, () => (solver.last() ? [solver.last().i, solver.last().j] : []));
    const marks = points.map((p, i) => D.handle(plane, { shape: p[2] > 0 ? D.SQUARE : D.DISC, label: "", ...link.of(i) }));
    marks.forEach((mark, i) => mark.put(points[i]));
    const shown = { model: null };

    function show() {
      const m = (shown.model = solver.model());
      const values = m.norm > 1e-9 ? D.grid(plane, CELLS, m.decide) : null;
      [0, 1, -1].forEach((level, t) => D.set(lines[t], { d: values ? D.contour(plane, values, CELLS, level) : "" }));
      points.forEach((p, i) => {
        const group = m.alpha[i] === 0 ? "zero" : m.alpha[i] >= C ? "bound" : "free";
        marks[i].node.setAttribute("class", `mf-point mf-fixed mf-${p[2] > 0 ? "a" : "b"} mf-${group}`);
        marks[i].name(`Row ${i + 1}, ${p[2] > 0 ? "positive" : "negative"}, alpha ${D.fixed(m.alpha[i], 2)}`);
      });
      bars.draw(m.alpha, points, C); cells.draw(m.K); trace.draw(); box.draw(solver.last());
      link.show();
      describe();
    }
    function describe() {
      const step = solver.last(), next = solver.next(), words = R.words(shown.model, points, link.chosen());
      const then = (next ? ` Next: rows ${next.i + 1} and ${next.j + 1}.` : " No pair violates by more than 1e-6: done.") + words;
      if (!step) { read.textContent = `All α are 0.${then}`; return; }
      const clipped = step.delta < step.wanted ? ", clipped at the box" : "";
      read.textContent = `Step ${solver.taken().length}: rows ${step.i + 1} and ${step.j + 1}, η = ${D.fixed(step.eta, 1)}, δ = ${D.fixed(step.delta, 3)}${clipped}; D = ${D.fixed(step.dual, 4)} of ${D.fixed(solver.best, 4)}.${then}`;
    }
    const go = (count) => { solver.go(count); show(); };
    const forward = D.button(controls, "Step", () => { if (solver.step()) show(); });
    D.button(controls, "Back", () => go(solver.taken().length - 1));
    D.button(controls, "To the end", () => go(MOST));
    D.button(controls, "Start again", () => go(0));
    const rules = D.el("select", { "aria-label": "Which pair" }, D.el("option", {}, "pair of largest gain"), D.el("option", {}, "most violating pair"));
    rules.addEventListener("change", () => { solver.byGain(rules.selectedIndex === 0); go(solver.taken().length); });
    controls.append(rules);
    controls.addEventListener("keydown", (event) => { if (event.key === "ArrowRight" && event.target !== rules) { event.preventDefault(); forward.click(); } });
    go(0);
    return { solver, shown, points };
  };

  /* Pair steps from α = 0 by one of two rules, with the dual value after each. */
  function pairSteps(points, y, C) {
    const k = S.kernel("linear");
    let state, taken, byGain = true;
    const api = {
      best: S.fit(points, y, C, k).dual, longest: 0,
      taken: () => taken, last: () => taken[taken.length - 1],
      model: () => S.describe(state),
      next: () => S.select(state, TOL, byGain),
      byGain(on) { byGain = on; },
      step() {
        const pair = api.next();
        if (pair) taken.push({ ...S.move(state, pair), dual: S.describe(state).dual });
        return pair !== null;
      },
      go(count) {
        state = S.start(points, y, C, k); taken = [];
        while (taken.length < count && api.step());
      },
    };
    for (const rule of [false, true]) { byGain = rule; api.go(MOST); api.longest = Math.max(api.longest, taken.length); }
    return api;
  }

  /* The box of a pair, the segment that Σβ leaves in it, and where the step ends. */
  function pairBox(parent, y, C) {
    const title = D.el("p", { class: "mf-title" });
    parent.append(title);
    const box = D.panel(parent, { x: [0, C], y: [0, C], width: 240, height: 200, label: "Box of the pair" });
    const segment = D.svg("path", { class: "mf-edge" }, box.back), jump = D.svg("path", { class: "mf-boundary" }, box.back), end = D.svg("circle", { r: 5, class: "mf-end" }, box.front);
    return {
      draw(taken) {
        title.textContent = taken ? `α of row ${taken.i + 1} across, of row ${taken.j + 1} up` : "the box of the pair";
        D.set(end, { visibility: taken ? "visible" : "hidden" });
        if (!taken) { for (const node of [segment, jump]) D.set(node, { d: "" }); return; }
        const from = taken.before.map(Math.abs), to = taken.after.map(Math.abs), same = y[taken.i] === y[taken.j];
        const total = same ? from[0] + from[1] : from[1] - from[0];
        const low = same ? Math.max(0, total - C) : Math.max(0, -total), high = same ? Math.min(C, total) : Math.min(C, C - total);
        const other = (a) => (same ? total - a : total + a);
        D.set(segment, { d: `M${box.px(low)} ${box.py(other(low))}L${box.px(high)} ${box.py(other(high))}` });
        D.set(jump, { d: `M${box.px(from[0])} ${box.py(from[1])}L${box.px(to[0])} ${box.py(to[1])}` });
        D.set(end, { cx: box.px(to[0]), cy: box.py(to[1]) });
      },
    };
  }

  /* The dual value step by step; dots are the steps that moved the lit rows, and a step that is chosen lights its pair. */
  function dualTrace(parent, solver) {
    parent.append(D.el("p", { class: "mf-title" }, "dual value after each step"));
    const { best, longest } = solver;
    const view = D.panel(parent, { x: [0, longest], y: [0, 1.1 * best], width: 240, height: 200, label: "Dual value after each step" });
    D.svg("path", { class: "mf-edge", d: `M${view.px(0)} ${view.py(best)}H${view.px(longest)}` }, view.back);
    const curve = D.svg("path", { class: "mf-boundary" }, view.back), dots = D.svg("path", { class: "mf-dots" }, view.front);
    const place = (dual, t) => `${view.px(t)} ${view.py(dual)}`;
    D.set(view.box, { role: "slider", "aria-label": "Dual value after each step: the arrow keys choose a step" });
    const pair = (at) => { const step = solver.taken()[at]; return step ? [step.i, step.j] : []; };
    let keys;
    return {
      watch(point, hold) {
        keys = R.byKeys(view.box, [longest], (at) => hold(pair(at[0])), () => hold([]));
        R.follow(view.box, (u, v, event) => {
          const at = Math.round(view.inverse(event)[0]) - 1;
          if (solver.taken()[at]) keys.put([at]);
          point(pair(at));
        }, () => point([]));
      },
      draw() { keys.resize(solver.taken().length); D.set(curve, { d: "M" + [0, ...solver.taken().map((step) => step.dual)].map(place).join("L") }); },
      light(rows) {
        const moved = (step) => rows.length > 0 && rows.every((i) => i === step.i || i === step.j);
        D.set(dots, { d: solver.taken().map((step, t) => (moved(step) ? `M${place(step.dual, t + 1)}h0` : "")).join("") });
      },
    };
  }
})(window);
