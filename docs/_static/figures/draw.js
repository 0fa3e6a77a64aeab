/* What all figures share: SVG elements, axes, controls, points that can be dragged or moved by keys. */
(function (root) {
  "use strict";
  const NS = "http://www.w3.org/2000/svg";
  let serial = 0;

  function el(name, attributes, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  function svg(name, attributes, parent) {
    const node = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    if (parent) parent.append(node);
    return node;
  }

  const set = (node, attributes) => {
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  };

  /* A panel with coordinates: x in [x0, x1], y in [y0, y1], drawn on width × height units; `ticks` are the axes with numbers, `names` what they measure. */
  function panel(parent, { x, y, width = 360, height = 360, label, axes = true, ticks = "xy", names = [] }) {
    const box = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "mf-panel", role: "group", "aria-label": label });
    parent.append(box);
    const pad = axes ? 26 : 6, letters = Math.max(...places(y).map((v) => tidy(v).length));
    const left = axes ? Math.max(pad, 8 + 7 * letters) : pad; // room for the numbers of the axis
    const px = (v) => left + ((v - x[0]) / (x[1] - x[0])) * (width - left - 6);
    const py = (v) => height - pad - ((v - y[0]) / (y[1] - y[0])) * (height - pad - 6);
    const clip = `mf-clip-${++serial}`;
    const rect = svg("rect", { x: left, y: 6, width: width - left - 6, height: height - pad - 6 }, svg("clipPath", { id: clip }, box));
    void rect;
    if (axes) drawAxes(box, x, y, px, py, { pad, left, width, height, ticks });
    const back = svg("g", { "clip-path": `url(#${clip})` }, box);
    const front = svg("g", {}, box);
    if (names.length) {
      svg("text", { x: width - 8, y: height - pad - 6, class: "mf-word", "text-anchor": "end" }, front).textContent = names[0];
      svg("text", { x: left + 6, y: 18, class: "mf-word" }, front).textContent = names[1];
    }
    const inverse = (event) => {
      const place = box.getBoundingClientRect();
      const u = ((event.clientX - place.left) / place.width) * width, v = ((event.clientY - place.top) / place.height) * height;
      return [x[0] + ((u - left) / (width - left - 6)) * (x[1] - x[0]), y[0] + ((height - pad - v) / (height - pad - 6)) * (y[1] - y[0])];
    };
    return { box, back, front, px, py, x, y, inverse };
  }

  /* Where an axis has numbers. */
  function places([low, high]) {
    const step = [0.25, 0.5, 1, 2, 5].find((s) => (high - low) / s <= 9) || 10, found = [];
    for (let v = Math.ceil(low / step) * step; v <= high + 1e-9; v += step) found.push(v);
    return found;
  }

  function drawAxes(box, x, y, px, py, { pad, left, width, height, ticks }) {
    const axis = svg("g", { class: "mf-axis" }, box);
    svg("path", { d: `M${left} 6V${height - pad}H${width - 6}` }, axis);
    if (ticks.includes("x")) for (const v of places(x)) svg("text", { x: px(v), y: height - 8, "text-anchor": "middle" }, axis).textContent = tidy(v);
    if (ticks.includes("y")) for (const v of places(y)) svg("text", { x: left - 5, y: py(v) + 4, "text-anchor": "end" }, axis).textContent = tidy(v);
  }

  const tidy = (v) => String(Math.round(v * 100) / 100).replace("-", "−");
  const fixed = (v, digits) => (Number.isFinite(v) ? (Math.abs(v) < 0.5 * 10 ** -digits ? 0 : v).toFixed(digits).replace("-", "−") : "∞");

  function slider(parent, { label, min, max, step, value, show, change }) {
    const id = `mf-${++serial}`;
    const input = el("input", { type: "range", id, min, max, step, value });
    const output = el("output", { for: id }, show(Number(value)));
    const react = () => { output.textContent = show(Number(input.value)); input.setAttribute("aria-valuetext", output.textContent); change(Number(input.value)); };
    input.addEventListener("input", react);
    parent.append(el("label", { for: id, class: "mf-slider" }, el("span", {}, label), input, output));
    return input;
  }

  function button(parent, text, press) {
    const node = el("button", { type: "button" }, text);
    node.addEventListener("click", press);
    parent.append(node);
    return node;
  }

  /* A mark that can be pointed at and focused; with `moved` also dragged, and moved by the arrow keys. */
  function handle(view, { shape, moved, key, over, focus, label, step = 0.1 }) {
    const node = svg("g", { class: "mf-point", tabindex: 0, role: moved ? "button" : "img", "aria-label": label }, view.front);
    const mark = svg("path", { d: shape }, node);
    const clamp = (p) => [Math.min(view.x[1], Math.max(view.x[0], p[0])), Math.min(view.y[1], Math.max(view.y[0], p[1]))];
    let place = [0, 0], held = false;
    const api = {
      node, mark,
      put(p) { place = p; set(node, { transform: `translate(${view.px(p[0])} ${view.py(p[1])})` }); },
      name(text) { node.setAttribute("aria-label", text); },
    };
    node.addEventListener("pointerdown", (event) => {
      if (moved) { held = true; node.setPointerCapture(event.pointerId); }
      node.focus({ preventScroll: true }); event.preventDefault();
    });
    node.addEventListener("pointermove", (event) => { if (held) moved(clamp(view.inverse(event))); });
    for (const type of ["pointerup", "pointercancel"]) node.addEventListener(type, () => { held = false; });
    node.addEventListener("keydown", (event) => {
      const by = moved && { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] }[event.key];
      if (by) { event.preventDefault(); moved(clamp([place[0] + by[0], place[1] + by[1]].map((v) => Math.round(v * 1000) / 1000))); }
      else if (key) key(event);
    });
    for (const [type, tell, on] of [["focus", focus, true], ["blur", focus, false], ["pointerenter", over, true], ["pointerleave", over, false]]) if (tell) node.addEventListener(type, () => tell(on));
    return api;
  }

  /* Lines f = level by marching squares on a grid of m × m cells, each line as one part of a path: dashes begin anew with every part. */
  function contour(view, values, m, level) {
    const at = (i, j) => values[i * (m + 1) + j] - level, next = new Map(), places = new Map();
    const X = (j) => view.px(view.x[0] + (j / m) * (view.x[1] - view.x[0])), Y = (i) => view.py(view.y[0] + (i / m) * (view.y[1] - view.y[0]));
    const link = (a, b) => { for (const [from, to] of [[a, b], [b, a]]) next.set(from, [...(next.get(from) || []), to]); };
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < m; j++) {
        const c = [at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)], crossings = [];
        const corner = [[j, i], [j + 1, i], [j + 1, i + 1], [j, i + 1]];
        for (let s = 0; s < 4; s++) {
          const u = c[s], v = c[(s + 1) % 4];
          if (u > 0 === v > 0) continue;
          const t = u / (u - v), p = corner[s], q = corner[(s + 1) % 4];
          const key = (s % 2) + 2 * (Math.min(p[0], q[0]) + (m + 1) * Math.min(p[1], q[1])); // the side of the cell, which two cells share
          if (!places.has(key)) places.set(key, `${X(p[0] + t * (q[0] - p[0])).toFixed(1)} ${Y(p[1] + t * (q[1] - p[1])).toFixed(1)}`);
          crossings.push(key);
        }
        for (let s = 0; s + 1 < crossings.length; s += 2) link(crossings[s], crossings[s + 1]);
      }
    }
    return chains(next).map((chain) => "M" + chain.map((key) => places.get(key)).join("L")).join("");
  }

  /* Links a – b, at most two at each end, as chains; open chains begin at an end, the others are closed. */
  function chains(next) {
    const found = [], left = new Set(next.keys());
    for (const open of [true, false]) {
      for (const start of next.keys()) {
        if (!left.has(start) || (open && next.get(start).length > 1)) continue;
        const chain = [];
        let key = start;
        while (key !== undefined) { chain.push(key); left.delete(key); key = next.get(key).find((other) => left.has(other)); }
        if (!open) chain.push(start);
        found.push(chain);
      }
    }
    return found;
  }

  function grid(view, m, decide) {
    const values = new Float64Array((m + 1) * (m + 1));
    for (let i = 0; i <= m; i++) {
      for (let j = 0; j <= m; j++) values[i * (m + 1) + j] = decide([view.x[0] + (j / m) * (view.x[1] - view.x[0]), view.y[0] + (i / m) * (view.y[1] - view.y[0])]);
    }
    return values;
  }

  const SQUARE = "M-6-6H6V6H-6Z", DISC = "M-7 0A7 7 0 1 0 7 0A7 7 0 1 0-7 0Z";

  /* How points of the three groups are drawn. */
  function key(parent) {
    const line = el("p", { class: "mf-key" });
    for (const [group, words] of [["zero", "α = 0"], ["free", "0 < α < C"], ["bound", "α = C"]]) {
      const box = svg("svg", { viewBox: "-10 -10 20 20", width: 15, height: 15, "aria-hidden": "true" });
      svg("path", { d: SQUARE }, svg("g", { class: `mf-a mf-${group}` }, box));
      line.append(el("span", {}, box, ` ${words}`));
    }
    parent.append(line);
  }

  const TWELVE = [[2, 4, 1], [4, 2, 1], [5, 3, 1], [4, 5, 1], [6, 4, 1], [5, 6, 1], [2, 2, -1], [1, 1, -1], [0, 3, -1], [3, 0, -1], [1, -1, -1], [-1, 1, -1]];
  root.MercerDraw = { el, svg, set, panel, slider, button, handle, contour, grid, key, fixed, tidy, SQUARE, DISC, TWELVE };
  root.MercerFigures = {};
})(window);
