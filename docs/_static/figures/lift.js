/* Rings lifted onto the paraboloid z = x² + y², turned by hand. */
(function (root) {
  "use strict";
  const D = root.MercerDraw;

  root.MercerFigures.lift = function (host) {
    const state = { turn: 0.6, tilt: 0.45, height: 2.3, lift: 1 };
    const rings = [];
    for (let i = 0; i < 30; i++) {
      const t = (2 * Math.PI * i) / 30, wobble = 0.1 * Math.sin(7.3 * i);
      rings.push([(1 + wobble) * Math.cos(t), (1 + wobble) * Math.sin(t), 1], [(2 + wobble) * Math.cos(t + 0.1), (2 + wobble) * Math.sin(t + 0.1), -1]);
    }
    const controls = D.el("div", { class: "mf-controls" }), read = D.el("p", { class: "mf-read", "aria-live": "polite" });
    const box = D.svg("svg", { viewBox: "0 0 420 340", class: "mf-panel mf-turn", tabindex: 0, role: "application", "aria-label": "Rings on a paraboloid; arrow keys turn it" });
    host.append(controls, box, read);
    const mesh = D.svg("path", { class: "mf-cloud" }, box), sheet = D.svg("path", { class: "mf-sheet" }, box);
    const marks = rings.map((p) => D.svg("path", { d: p[2] > 0 ? D.SQUARE : D.DISC, class: p[2] > 0 ? "mf-a" : "mf-b" }, box));
    const project = (x, y, z) => {
      const u = x * Math.cos(state.turn) - y * Math.sin(state.turn), v = x * Math.sin(state.turn) + y * Math.cos(state.turn);
      const up = state.lift * z * 0.75 - 1.6 * state.lift;
      return [210 + 56 * u, 192 + 56 * (v * Math.sin(state.tilt) - up * Math.cos(state.tilt))];
    };
    const path = (places, close) => "M" + places.map((p) => p.map((v) => v.toFixed(1)).join(" ")).join("L") + (close ? "Z" : "");
    function draw() {
      let d = "";
      for (const r of [0.5, 1, 1.5, 2, 2.3]) d += path(Array.from({ length: 41 }, (_, i) => project(r * Math.cos((i * Math.PI) / 20), r * Math.sin((i * Math.PI) / 20), r * r)));
      for (let s = 0; s < 8; s++) d += path(Array.from({ length: 12 }, (_, i) => { const r = (2.3 * i) / 11; return project(r * Math.cos((s * Math.PI) / 4), r * Math.sin((s * Math.PI) / 4), r * r); }));
      D.set(mesh, { d });
      D.set(sheet, { d: path([[-2.4, -2.4], [2.4, -2.4], [2.4, 2.4], [-2.4, 2.4]].map(([x, y]) => project(x, y, state.height)), true) });
      rings.forEach((p, i) => { const [u, v] = project(p[0], p[1], p[0] ** 2 + p[1] ** 2); D.set(marks[i], { transform: `translate(${u.toFixed(1)} ${v.toFixed(1)}) scale(.6)` }); });
      const right = rings.filter((p) => p[0] ** 2 + p[1] ** 2 < state.height === p[2] > 0).length;
      read.textContent = `Plane at x₁² + x₂² = ${D.fixed(state.height, 2)}, a circle of radius ${D.fixed(Math.sqrt(state.height), 2)} in the plane: ${right} of 60 points on their own side.`;
    }
    let held = null;
    box.addEventListener("pointerdown", (event) => { held = [event.clientX, event.clientY, state.turn, state.tilt]; box.setPointerCapture(event.pointerId); });
    box.addEventListener("pointermove", (event) => { if (!held) return; state.turn = held[2] + (event.clientX - held[0]) / 120; state.tilt = Math.max(0, Math.min(1.5, held[3] + (event.clientY - held[1]) / 150)); draw(); });
    for (const type of ["pointerup", "pointercancel"]) box.addEventListener(type, () => { held = null; });
    box.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.08], ArrowDown: [0, -0.08] }[event.key];
      if (!by) return;
      event.preventDefault();
      state.turn += by[0]; state.tilt = Math.max(0, Math.min(1.5, state.tilt + by[1])); draw();
    });
    D.slider(controls, { label: "height of the plane", min: 0, max: 5, step: 0.05, value: state.height, show: (v) => D.fixed(v, 2), change: (v) => { state.height = v; draw(); } });
    D.slider(controls, { label: "lift", min: 0, max: 1, step: 0.05, value: 1, show: (v) => D.fixed(v, 2), change: (v) => { state.lift = v; draw(); } });
    draw();
    return { state, draw };
  };
})(window);
