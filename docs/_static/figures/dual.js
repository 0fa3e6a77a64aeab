/* The (g, f) plane: the image of the box, and the line of slope −α pushed up until it touches. */
(function (root) {
  "use strict";
  const S = root.MercerSVM, D = root.MercerDraw;

  root.MercerFigures.dual = function (host) {
    const state = { alpha: 0.5, bent: false, a: 2 };
    const controls = D.el("div", { class: "mf-controls" }), views = D.el("div", { class: "mf-views" });
    const read = D.el("p", { class: "mf-read", "aria-live": "polite" });
    host.append(controls, views, read);
    const image = D.panel(views, { x: [-3, 3], y: [-1, 6], names: ["g", "f"], label: "Image of the box: g across, f up" });
    const cloud = D.svg("path", { class: "mf-cloud" }, image.back);
    D.svg("path", { class: "mf-axisline", d: `M${image.px(0)} ${image.py(-1)}V${image.py(6)}` }, image.back);
    const line = D.svg("path", { class: "mf-boundary" }, image.back);
    const low = D.svg("circle", { r: 6, class: "mf-a", cx: image.px(0), cy: image.py(1) }, image.front), height = D.svg("circle", { r: 5, class: "mf-end", cx: image.px(0) }, image.front);
    void low;
    D.svg("text", { x: image.px(0) + 9, y: image.py(1) + 4, class: "mf-word" }, image.front).textContent = "p* = 1";
    const side = D.el("div", { class: "mf-side" });
    views.append(side);
    side.append(D.el("p", { class: "mf-title" }, "dual function q(α)"));
    const graph = D.panel(side, { x: [0, 4], y: [-3, 1.2], width: 240, height: 200, names: ["α", "q"], label: "Dual function" });
    const curve = D.svg("path", { class: "mf-edge" }, graph.back), now = D.svg("circle", { r: 5, class: "mf-end" }, graph.front);

    function paint() {
      let d = "";
      for (let t = 0; t <= 60; t++) {
        const s = (state.a * state.a * t) / 60;
        for (let u = 0; u <= 32; u++) {
          const w2 = -2 + u / 8, g = state.bent ? 1 - w2 + s - (s * s) / 2 : 1 - w2;
          d += `${u ? "L" : "M"}${image.px(g).toFixed(1)} ${image.py(s + w2 * w2).toFixed(1)}`;
        }
      }
      D.set(cloud, { d });
      let q = "";
      for (let t = 0; t <= 160; t++) q += `${t ? "L" : "M"}${graph.px(t / 40).toFixed(1)} ${graph.py(S.dualFunction(t / 40, state.bent, state.a)).toFixed(1)}`;
      D.set(curve, { d: q });
      tilt();
    }
    function best() {
      let top = 0;
      for (let t = 0; t <= 4000; t++) if (S.dualFunction(t / 1000, state.bent, state.a) > S.dualFunction(top, state.bent, state.a)) top = t / 1000;
      return top;
    }
    function tilt() {
      const q = S.dualFunction(state.alpha, state.bent, state.a), top = S.dualFunction(best(), state.bent, state.a);
      D.set(line, { d: `M${image.px(-3)} ${image.py(q + 3 * state.alpha)}L${image.px(3)} ${image.py(q - 3 * state.alpha)}` });
      D.set(height, { cy: image.py(q) });
      D.set(now, { cx: graph.px(state.alpha), cy: graph.py(q), visibility: q < -3 ? "hidden" : "visible" });
      read.textContent = `α = ${D.fixed(state.alpha, 2)}: the line meets the axis at q(α) = ${D.fixed(q, 3)}. Best: d* = ${D.fixed(top, 3)}; p* = 1; gap ${D.fixed(1 - top, 3)}.`;
    }
    const alpha = D.slider(controls, { label: "α", min: 0, max: 4, step: 0.02, value: state.alpha, show: (v) => D.fixed(v, 2), change: (v) => { state.alpha = v; tilt(); } });
    const size = D.slider(controls, { label: "a", min: 1, max: 3, step: 0.05, value: state.a, show: (v) => D.fixed(v, 2), change: (v) => { state.a = v; paint(); } });
    const swap = D.button(controls, "Bend the constraint", () => { state.bent = !state.bent; swap.textContent = state.bent ? "Straighten the constraint" : "Bend the constraint"; size.parentNode.hidden = !state.bent; paint(); });
    D.button(controls, "Best slope", () => { alpha.value = best(); alpha.dispatchEvent(new Event("input")); state.alpha = best(); tilt(); }); // the slider rounds
    size.parentNode.hidden = true;
    paint();
    return { state, paint, tilt, best };
  };
})(window);
