// The plane lifted to height f: what lies above the sheet f = 0 is of one class, what lies below of the other.
window.lift = (() => {
  "use strict";
  const by = (id) => document.getElementById(id);
  const INK = "#222222", PINK = "#a8487c", STEEP = 0.62; // height of the limit, in halves of the plane
  let view = null, pointed = null, held = null;
  const pose = {turn: 0.6, tilt: 0.5, height: 1};

  function show(message, columns) {
    view = message && {...message, x: columns.points.x, y: columns.points.y, boundary: columns.boundary};
    by("lift").hidden = view === null;
    draw();
  }

  function mark(number) {
    if (number === pointed) return;
    pointed = number;
    draw();
  }

  // From (x, y, f) to the canvas, whose half width is `half`; the third number is the depth.
  function projection(half) {
    const [c, s] = [Math.cos(pose.turn), Math.sin(pose.turn)], unit = 0.69 * half / view.extent;
    const [up, away] = [Math.cos(pose.tilt), Math.sin(pose.tilt)];
    const rise = pose.height * STEEP * view.extent / view.limit;
    return (x, y, f) => {
      const u = x * c - y * s, v = x * s + y * c, z = rise * Math.max(-view.limit, Math.min(view.limit, f));
      return [half + unit * u, 0.82 * half - unit * (v * away + z * up), v * up - z * away];
    };
  }

  function draw() {
    if (view === null || !by("lift").open) return;
    const canvas = by("lifted"), ratio = window.devicePixelRatio || 1, wide = canvas.clientWidth, high = canvas.clientHeight;
    canvas.width = Math.round(wide * ratio);
    canvas.height = Math.round(high * ratio);
    const pen = canvas.getContext("2d"), at = projection(wide / 2);
    pen.scale(ratio, ratio);
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, wide, high);
    const patches = surface(at);
    // Seen from above, what is below the sheet is behind it.
    drawPatches(pen, patches.filter((patch) => patch.f < 0));
    drawPoints(pen, at, (f) => f < 0);
    drawSheet(pen, at);
    drawPatches(pen, patches.filter((patch) => patch.f >= 0));
    drawBoundary(pen, at);
    drawPoints(pen, at, (f) => f >= 0);
  }

  function surface(at) {
    const m = view.across, step = (2 * view.extent) / (m - 1), places = [], patches = [];
    for (let i = 0; i < m; i++)
      for (let j = 0; j < m; j++) places.push(at(j * step - view.extent, i * step - view.extent, view.f[i * m + j]));
    for (let i = 0; i + 1 < m; i++)
      for (let j = 0; j + 1 < m; j++) {
        const corners = [i * m + j, i * m + j + 1, (i + 1) * m + j + 1, (i + 1) * m + j];
        const values = corners.map((k) => view.f[k]);
        if (Math.min(...values) >= view.limit || Math.max(...values) <= -view.limit) continue; // out of the picture
        const mean = (list) => list.reduce((a, b) => a + b) / 4;
        patches.push({f: mean(values), depth: mean(corners.map((k) => places[k][2])), corners: corners.map((k) => places[k])});
      }
    return patches.sort((a, b) => b.depth - a.depth);
  }

  function outline(pen, corners) {
    pen.beginPath();
    corners.forEach(([u, v], k) => (k ? pen.lineTo(u, v) : pen.moveTo(u, v)));
    pen.closePath();
  }

  function drawPatches(pen, patches) {
    for (const {f, corners} of patches) {
      pen.fillStyle = view.fills[(f >= 0) * 2 + (Math.abs(f) >= view.edge)];
      pen.strokeStyle = "rgb(60 60 60 / 22%)";
      pen.lineWidth = 0.6;
      outline(pen, corners);
      pen.fill();
      pen.stroke();
    }
  }

  function drawSheet(pen, at) {
    const e = view.extent;
    outline(pen, [[-e, -e], [e, -e], [e, e], [-e, e]].map(([x, y]) => at(x, y, 0)));
    pen.fillStyle = "rgb(255 255 255 / 45%)";
    pen.fill();
    pen.strokeStyle = INK;
    pen.lineWidth = 1;
    pen.stroke();
  }

  function drawBoundary(pen, at) {
    pen.strokeStyle = INK;
    pen.lineWidth = 2;
    view.boundary.xs.forEach((xs, k) => {
      pen.beginPath();
      xs.forEach((x, i) => { const [u, v] = at(x, view.boundary.ys[k][i], 0); i ? pen.lineTo(u, v) : pen.moveTo(u, v); });
      pen.stroke();
    });
  }

  function drawPoints(pen, at, which) {
    view.points.forEach((f, i) => {
      if (!which(f)) return;
      const [u, v] = at(view.x[i], view.y[i], f);
      pen.beginPath();
      pen.arc(u, v, i === pointed ? 6 : 3.4, 0, 7);
      pen.fillStyle = view.colours[i];
      pen.strokeStyle = i === pointed ? PINK : "#fff";
      pen.lineWidth = i === pointed ? 3 : 1;
      pen.fill();
      pen.stroke();
    });
  }

  // ---------------------------------------------------------------- by hand

  function turn(by_turn, by_tilt) {
    pose.turn += by_turn;
    pose.tilt = Math.max(0, Math.min(1.5, pose.tilt + by_tilt));
    draw();
  }

  function nearest(event, reach = 10) {
    const area = event.currentTarget.getBoundingClientRect(), at = projection(area.width / 2);
    let least = reach, found = null;
    view.points.forEach((f, i) => {
      const [u, v] = at(view.x[i], view.y[i], f), far = Math.hypot(u + area.left - event.clientX, v + area.top - event.clientY);
      if (far <= least) [least, found] = [far, i];
    });
    return found;
  }

  function start() {
    const canvas = by("lifted");
    canvas.addEventListener("pointerdown", (event) => {
      held = event;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (view === null) return;
      if (held === null) return window.linked.point(nearest(event));
      turn((held.clientX - event.clientX) / -120, (event.clientY - held.clientY) / 150);
      held = event;
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { held = null; });
    canvas.addEventListener("pointerleave", () => { if (view && held === null) window.linked.point(null); });
    canvas.addEventListener("keydown", (event) => {
      const way = {ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.08], ArrowDown: [0, -0.08]}[event.key];
      if (!way) return;
      event.preventDefault();
      turn(...way);
    });
    by("height").addEventListener("input", (event) => {
      pose.height = Number(event.target.value);
      draw();
    });
    by("lift").addEventListener("toggle", draw);
    new ResizeObserver(draw).observe(canvas);
  }

  return {start, show, mark, pose};
})();
