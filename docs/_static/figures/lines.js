/* Three figures with one line each: turned by hand; two forces; logistic regression beside the maximal margin. */
(function (root) {
  "use strict";
  const S = root.MercerSVM, D = root.MercerDraw, F = root.MercerFigures;

  function base(host, points, label, range) {
    const controls = D.el("div", { class: "mf-controls" }), views = D.el("div", { class: "mf-views" }), read = D.el("p", { class: "mf-read", "aria-live": "polite" });
    host.append(controls, views, read);
    const view = D.panel(views, { x: range, y: range, label, names: ["x₁", "x₂"] });
    points.forEach((p) => D.svg("path", { d: p[2] > 0 ? D.SQUARE : D.DISC, class: p[2] > 0 ? "mf-a" : "mf-b", transform: `translate(${view.px(p[0])} ${view.py(p[1])})` }, view.front));
    return { controls, views, read, view };
  }
  /* The line w·x + b = level across the panel. */
  function across(view, w, b, level) {
    const size = w[0] ** 2 + w[1] ** 2, far = 30 / Math.sqrt(size), c = (level - b) / size;
    const [x, y] = [c * w[0], c * w[1]];
    return `M${view.px(x - far * w[1])} ${view.py(y + far * w[0])}L${view.px(x + far * w[1])} ${view.py(y - far * w[0])}`;
  }

  F.turn = function (host) {
    const points = D.TWELVE, state = { angle: 60, shift: 3.4 };
    const { controls, read, view } = base(host, points, "A line turned by hand", [-1.7, 6.7]);
    const line = D.svg("path", { class: "mf-boundary" }, view.back), strip = [1, -1].map(() => D.svg("path", { class: "mf-edge" }, view.back));
    let best = -Infinity;
    function draw() {
      const t = (state.angle * Math.PI) / 180, w = [Math.cos(t), Math.sin(t)];
      const distances = points.map((p) => p[2] * (p[0] * w[0] + p[1] * w[1] - state.shift));
      const least = Math.min(...distances), wrong = distances.filter((d) => d <= 0).length;
      best = Math.max(best, least);
      D.set(line, { d: across(view, w, -state.shift, 0) });
      strip.forEach((edge, i) => D.set(edge, { d: least > 0 ? across(view, w, -state.shift, (i ? -1 : 1) * least) : "" }));
      read.textContent = wrong ? `${wrong} ${wrong === 1 ? "point" : "points"} on the wrong side.` : `Smallest distance ${D.fixed(least, 3)}. Best so far ${D.fixed(best, 3)}; the largest possible is 0.707, at 45° and 3.536.`;
    }
    D.slider(controls, { label: "angle of w", min: 0, max: 90, step: 1, value: state.angle, show: (v) => `${v}°`, change: (v) => { state.angle = v; draw(); } });
    D.slider(controls, { label: "distance from the origin", min: 0, max: 6, step: 0.02, value: state.shift, show: (v) => D.fixed(v, 2), change: (v) => { state.shift = v; draw(); } });
    draw();
    return { state, draw };
  };

  F.forces = function (host) {
    const points = [...D.TWELVE, [4, 4, -1], [1, 2, 1]], C = 0.2, state = { norm: 0.6 };
    const { controls, views, read, view } = base(host, points, "The strip for a given length of w", [-1.7, 6.7]);
    const line = D.svg("path", { class: "mf-boundary" }, view.back), edges = [1, -1].map(() => D.svg("path", { class: "mf-edge" }, view.back));
    const bars = D.panel(views, { x: [0, 3], y: [0, 4], width: 300, height: 240, ticks: "y", label: "Both parts of the objective, and their sum" });
    const rects = ["mf-a", "mf-b", "mf-sum"].map((name, i) => D.svg("rect", { class: name, x: bars.px(0.2 + i), width: bars.px(0.6) - bars.px(0) }, bars.back));
    ["½‖w‖²", "C Σξ", "sum"].forEach((text, i) => { D.svg("text", { class: "mf-word", x: bars.px(0.5 + i), y: 234, "text-anchor": "middle" }, bars.front).textContent = text; });
    const parts = (norm) => {
      const w = [norm / Math.SQRT2, norm / Math.SQRT2], f = points.map((p) => p[0] * w[0] + p[1] * w[1]);
      const slack = (b) => points.reduce((sum, p, i) => sum + Math.max(0, 1 - p[2] * (f[i] + b)), 0);
      const kinks = points.map((p, i) => p[2] - f[i]); // the best b is at a kink
      const b = kinks.reduce((top, value) => (slack(value) < slack(top) - 1e-12 ? value : top), kinks[0]);
      return { w, b, length: (norm * norm) / 2, slack: C * slack(b) };
    };
    let best = 0.05;
    for (let v = 0.05; v <= 2.5; v += 0.005) if (parts(v).length + parts(v).slack < parts(best).length + parts(best).slack) best = v;
    const least = bars.py(parts(best).length + parts(best).slack);
    D.svg("path", { class: "mf-edge", d: `M${bars.px(0)} ${least}H${bars.px(3)}` }, bars.front);
    function draw() {
      const now = parts(state.norm);
      D.set(line, { d: across(view, now.w, now.b, 0) });
      edges.forEach((edge, i) => D.set(edge, { d: across(view, now.w, now.b, i ? -1 : 1) }));
      [now.length, now.slack, now.length + now.slack].forEach((value, i) => D.set(rects[i], { y: bars.py(Math.min(4, value)), height: bars.py(0) - bars.py(Math.min(4, value)) }));
      read.textContent = `‖w‖ = ${D.fixed(state.norm, 2)}, width ${D.fixed(2 / state.norm, 2)}: ${D.fixed(now.length, 3)} + ${D.fixed(now.slack, 3)} = ${D.fixed(now.length + now.slack, 3)}. Smallest at ‖w‖ = ${D.fixed(best, 2)}.`;
    }
    D.slider(controls, { label: "‖w‖", min: 0.05, max: 2.5, step: 0.01, value: state.norm, show: (v) => D.fixed(v, 2), change: (v) => { state.norm = v; draw(); } });
    draw();
    return { state, draw, best, parts };
  };

  F.confidence = function (host) {
    const right = [[1, -3], [1, 3], [2.6, -2.6], [2.8, -3.4], [3, 4], [4, 4], [5, 3], [4, 5], [5, 5], [3, 5], [5, 4], [4, 6], [6, 6], [5, 6], [6, 5], [3, 6]];
    const points = [...right.map((p) => [...p, 1]), ...right.map((p) => [-p[0], -p[1], -1])], state = { level: 0.5 };
    const { controls, read, view } = base(host, points, "Logistic regression and the maximal margin", [-6.5, 6.5]);
    const y = points.map((p) => p[2]), machine = S.fit(points, y, Infinity, S.kernel("linear")), model = S.logistic(points, y, 0.01);
    D.svg("path", { class: "mf-boundary", d: across(view, machine.w, machine.b, 0) }, view.back);
    const line = D.svg("path", { class: "mf-edge" }, view.back);
    const named = { A: [5, 5], B: [1.5, -1.4], C: [1, -3] };
    const marks = Object.entries(named).map(([name, p]) => {
      const mark = D.handle(view, { shape: "M-9-9H9V9H-9Z", label: `Point ${name}`, step: 0.2, moved: (q) => { p[0] = q[0]; p[1] = q[1]; draw(); } });
      mark.node.classList.add("mf-probe");
      D.svg("text", { class: "mf-word", ...(name === "C" ? { x: -5, y: 24 } : { x: 10, y: -8 }) }, mark.node).textContent = name;
      return [name, p, mark];
    });
    function draw() {
      D.set(line, { d: across(view, model.w, model.b, Math.log(state.level / (1 - state.level))) });
      read.textContent = marks.map(([name, p, mark]) => {
        const f = model.w[0] * p[0] + model.w[1] * p[1] + model.b, P = 1 / (1 + Math.exp(-f));
        mark.put(p);
        mark.name(`Point ${name} at ${D.fixed(p[0], 1)}, ${D.fixed(p[1], 1)}`);
        return `${name}: P = ${D.fixed(P, 2)}, label ${P >= state.level ? "+1" : "−1"}; maximal margin f = ${D.fixed(machine.decide(p), 2)}`;
      }).join(". ") + ".";
    }
    D.slider(controls, { label: "confidence level", min: 0.05, max: 0.95, step: 0.01, value: 0.5, show: (v) => D.fixed(v, 2), change: (v) => { state.level = v; draw(); } });
    draw();
    return { state, draw, model, machine };
  };
})(window);
