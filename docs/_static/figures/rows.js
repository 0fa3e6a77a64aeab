/* Views of the rows of a data set: bars of α and the kernel matrix. What is pointed at in one view is lit in all. */
(function (root) {
  "use strict";
  const D = root.MercerDraw;

  /* One bar for each row, up for positive labels and down for negative ones. */
  function bars(parent, points) {
    const title = D.el("p", { class: "mf-title" });
    const n = points.length, width = 240, height = 90;
    const box = D.svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "mf-strip mf-bars", role: "slider", "aria-label": "Bars of α: the arrow keys choose a row" });
    parent.append(title, box);
    const rects = points.map((_, i) => D.svg("rect", { x: (i * width) / n + 1, width: width / n - 2 }, box));
    D.svg("path", { d: `M0 ${height / 2}H${width}`, class: "mf-axisline" }, box);
    return {
      draw(alpha, rows, C) {
        const top = Number.isFinite(C) ? C : Math.max(1e-9, ...alpha);
        title.textContent = Number.isFinite(C) ? `α of each row, up to C = ${D.tidy(C)}` : top > 1e-8 ? `α of each row, the largest is ${D.fixed(top, 2)}` : "α of each row: none is optimal";
        rects.forEach((rect, i) => {
          const size = Math.min(1, alpha[i] / top) * (height / 2 - 3);
          D.set(rect, { y: rows[i][2] > 0 ? height / 2 - size : height / 2, height: Math.max(size, 0.5), class: rows[i][2] > 0 ? "mf-a" : "mf-b" });
        });
      },
      light(rows) { rects.forEach((rect, i) => rect.classList.toggle("mf-lit", rows.includes(i))); },
      watch(point, hold) {
        const keys = byKeys(box, [n], (at) => hold([at[0]]), () => hold([]));
        follow(box, (u) => point([keys.put([cell(u, n)])[0]]), () => point([]));
      },
    };
  }

  function matrix(parent, points) {
    const n = points.length, size = 240;
    const box = D.svg("svg", { viewBox: `0 0 ${size} ${size}`, class: "mf-strip mf-square", role: "application", "aria-label": "Kernel matrix: the arrow keys choose a row and a column" });
    parent.append(D.el("p", { class: "mf-title" }, "kernel matrix (orange: < 0)"), box);
    const rects = [];
    for (let i = 0; i < n * n; i++) rects.push(D.svg("rect", { x: ((i % n) * size) / n, y: (Math.floor(i / n) * size) / n, width: size / n, height: size / n }, box));
    const frame = (attributes) => D.svg("rect", { class: "mf-frame", visibility: "hidden", ...attributes }, box);
    const across = [0, 1].map(() => frame({ x: 1, width: size - 2, height: size / n })), down = frame({ y: 1, width: size / n, height: size - 2 });
    return {
      draw(K) {
        const top = Math.max(...K.flat().map(Math.abs), 1e-9);
        rects.forEach((rect, t) => { const v = K[Math.floor(t / n)][t % n] / top; D.set(rect, { "fill-opacity": Math.abs(v).toFixed(3), class: v < 0 ? "mf-b" : "mf-a" }); });
      },
      light(rows, column) {
        across.forEach((node, t) => D.set(node, t < rows.length ? { visibility: "visible", y: (rows[t] * size) / n } : { visibility: "hidden" }));
        D.set(down, column < 0 ? { visibility: "hidden" } : { visibility: "visible", x: (column * size) / n });
      },
      watch(point, hold) {
        const keys = byKeys(box, [n, n], ([column, row]) => hold([row], column), () => hold([]));
        follow(box, (u, v) => { const [column, row] = keys.put([cell(u, n), cell(v, n)]); point([row], column); }, () => point([]));
      },
    };
  }

  const cell = (part, n) => Math.max(0, Math.min(n - 1, Math.floor(part * n)));

  /* What is pointed at in a picture, in parts of its width and height; a finger's choice stays. */
  function follow(box, over, out) {
    for (const type of ["pointermove", "pointerdown"]) {
      box.addEventListener(type, (event) => {
        const place = box.getBoundingClientRect();
        over((event.clientX - place.left) / place.width, (event.clientY - place.top) / place.height, event);
      });
    }
    box.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") out(); });
  }

  /* A place in a picture, chosen by the arrow keys: across, with two sizes also down. Focus shows the last place, also that of the pointer. */
  function byKeys(box, sizes, chosen, left) {
    const at = sizes.map(() => 0);
    const isLine = sizes.length === 1; // then a slider, of which up is more
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: isLine ? [0, 1] : [1, -1], ArrowDown: isLine ? [0, -1] : [1, 1] };
    const put = (place) => {
      place.forEach((value, axis) => { at[axis] = Math.max(0, Math.min(sizes[axis] - 1, value)); });
      if (isLine) D.set(box, { "aria-valuemin": 1, "aria-valuemax": sizes[0], "aria-valuenow": at[0] + 1 });
      return at;
    };
    D.set(box, { tabindex: 0 });
    put(at);
    box.addEventListener("focus", () => chosen(put(at)));
    box.addEventListener("blur", left);
    box.addEventListener("keydown", (event) => {
      const move = moves[event.key];
      if (!move) return;
      event.preventDefault();
      chosen(put(at.map((value, axis) => value + (axis === move[0] ? move[1] : 0))));
    });
    return { put, resize(size) { sizes[0] = Math.max(1, size); put(at); } };
  }

  /* The rows that are lit in all views: those chosen last by pointer or focus, else `otherwise`. `changed` is told. */
  function link(views, changed, otherwise = () => []) {
    const none = { rows: [], column: -1 };
    let over = none, held = none;
    const api = {
      chosen: () => (over.rows.length ? over : held),
      rows: () => (api.chosen().rows.length ? api.chosen().rows : otherwise()),
      point(rows, column = -1) { over = { rows, column }; api.show(); changed(); },
      hold(rows, column = -1) { held = { rows, column }; if (rows.length) over = none; api.show(); changed(); },
      show() { for (const view of views) view.light(api.rows(), api.chosen().column); },
      /* For D.handle: a point of row i. */
      of: (i) => ({ over: (on) => api.point(on ? [i] : []), focus: (on) => api.hold(on ? [i] : []) }),
    };
    for (const view of views) if (view.watch) view.watch(api.point, api.hold);
    return api;
  }

  /* What is known of the chosen rows of a machine m. The parts sum to the dual value, whatever b is, since Σβ = 0. */
  function words(m, points, { rows, column }) {
    const number = D.fixed;
    return rows.map((i) => {
      const [x1, x2, y] = points[i], yf = y * (m.f[i] + m.b);
      const entry = column < 0 ? "" : ` k(row ${i + 1}, row ${column + 1}) = ${number(m.K[i][column], 3)}.`;
      return ` Row ${i + 1} at (${number(x1, 1)}, ${number(x2, 1)}): α = ${number(m.alpha[i], 3)}, y f = ${number(yf, 3)}, part of the dual value α(1 − ½ y f) = ${number(m.alpha[i] * (1 - yf / 2), 3)}.${entry}`;
    }).join("");
  }

  root.MercerRows = { bars, matrix, follow, byKeys, link, words };
})(window);
