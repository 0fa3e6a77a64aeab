// Linked views: the row that is pointed at in one of them is highlighted in all.
window.linked = (() => {
  "use strict";
  const by = (id) => document.getElementById(id);
  const LEVELS = 32767; // of two bytes with a sign
  const PINK = "#a8487c", INK = [34, 34, 34], NEGATIVE = [168, 72, 124];
  const VIEWS = ["bars", "parts", "matrix"];
  let views = null, K = null, sources = null, picture = null; // picture: the matrix, a pixel for each entry
  let row = null, column = null; // places in views.rows

  const source = (name) => (sources instanceof Map ? sources.get(name) : sources[name]);
  const format = (value) => Number(value.toPrecision(3)).toString().replace("-", "−");

  function show(message) {
    const before = pointedAt();
    views = message;
    by("linked").hidden = views === null;
    if (views === null) { row = column = null; window.lift.mark(null); return; }
    K = new Int16Array(Uint8Array.from(atob(views.K), (letter) => letter.charCodeAt(0)).buffer);
    picture = paintMatrix();
    by("bars-view").hidden = !views.coefficient;
    by("bars-name").textContent = `${views.coefficient} of each point`;
    by("parts-view").hidden = views.parts === null;
    by("row").max = views.rows.length;
    const at = views.rows.indexOf(before);
    select(at < 0 ? null : at, null);
  }

  const pointedAt = () => (row === null || views === null ? null : views.rows[row]);

  // A point of the plane, by its number; null: none.
  function point(number) {
    const at = number === null || views === null ? -1 : views.rows.indexOf(number);
    if ((at < 0 ? null : at) !== row || column !== null) select(at < 0 ? null : at, null);
  }

  function select(newRow, newColumn) {
    [row, column] = [newRow, newColumn];
    if (views.coefficient) drawBars("bars", views.alpha);
    if (views.parts) drawBars("parts", views.parts);
    drawMatrix();
    markPlane();
    window.lift.mark(pointedAt());
    by("row").value = row === null ? 0 : row + 1;
    by("row-note").textContent = note();
    by("row").setAttribute("aria-valuetext", note());
  }

  // K is the lower triangle, row by row.
  function level(i, j) {
    const [low, high] = i < j ? [i, j] : [j, i];
    return K[(high * (high + 1)) / 2 + low];
  }

  const entry = (i, j) => (level(i, j) / LEVELS) * views.scale;

  // No more digits than the levels have.
  function entryWords(i, j) {
    const size = Math.abs(level(i, j)), unit = views.scale / LEVELS;
    if (size < 10) return `≈ 0 (below ${format(10 * unit)})`;
    return `= ${format(Number(entry(i, j).toPrecision(Math.min(3, Math.floor(Math.log10(size))))))}`;
  }

  function note() {
    if (row === null) return "Point at a row in any view.";
    const text = source("points").data.note[views.rows[row]];
    if (column !== null) {
      const names = [row, column].map((k) => `x${subscript(views.rows[k] + 1)}`);
      return `k(${names.join(", ")}) ${entryWords(row, column)}; ${text}`;
    }
    if (!views.parts) return text;
    return `${text}; part of the dual value ${format(views.parts[row])} of ${format(views.dual)}`;
  }

  const subscript = (number) => [...String(number)].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]).join("");

  // ---------------------------------------------------------------- drawing

  // A canvas as large as it is shown, cleared; its units are those of CSS.
  function begin(id) {
    const canvas = by(id), ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, width, height);
    return {pen, width, height};
  }

  function drawBars(id, values) {
    const {pen, width, height} = begin(id), step = width / values.length, edge = 2;
    const top = Math.max(0, ...values), bottom = Math.min(0, ...values);
    const scale = (height - 2 * edge) / (top - bottom || 1), zero = edge + top * scale;
    if (row !== null) {
      pen.fillStyle = "#f3dfea";
      pen.fillRect(row * step, 0, Math.max(step, 2), height);
    }
    values.forEach((value, k) => {
      pen.fillStyle = k === row ? PINK : views.colour[k];
      const long = value * scale;
      pen.fillRect(k * step, zero - Math.max(long, 0), Math.max(0.75 * step, 1), Math.abs(long));
    });
    pen.fillStyle = "#8a9099";
    pen.fillRect(0, zero - 0.5, width, 1);
  }

  function paintMatrix() {
    const n = views.rows.length, canvas = document.createElement("canvas");
    canvas.width = canvas.height = n;
    const pen = canvas.getContext("2d"), image = pen.createImageData(n, n);
    for (let k = 0; k < n * n; k++) {
      const value = level(Math.floor(k / n), k % n), hue = value < 0 ? NEGATIVE : INK, part = Math.abs(value) / LEVELS;
      for (let c = 0; c < 3; c++) image.data[4 * k + c] = 255 - part * (255 - hue[c]);
      image.data[4 * k + 3] = 255;
    }
    pen.putImageData(image, 0, 0);
    return canvas;
  }

  function drawMatrix() {
    const {pen, width, height} = begin("matrix"), n = views.rows.length;
    pen.imageSmoothingEnabled = false;
    pen.drawImage(picture, 0, 0, width, height);
    if (row === null) return;
    const [wide, high] = [width / n, height / n], other = column ?? row;
    pen.strokeStyle = PINK;
    pen.lineWidth = 2;
    pen.strokeRect(1, row * high - 1, width - 2, high + 2);
    pen.strokeRect(other * wide - 1, 1, wide + 2, height - 2);
  }

  // The point itself gets a ring, all others a disc as opaque as they are similar.
  function markPlane() {
    const {x, y} = source("points").data, rows = row === null ? [] : views.rows;
    const most = row === null ? 1 : Math.max(...rows.map((_, j) => Math.abs(entry(row, j)))) || 1;
    source("similar").data = {
      x: rows.map((i) => x[i]), y: rows.map((i) => y[i]),
      alpha: rows.map((_, j) => 0.55 * Math.abs(entry(row, j)) / most),
    };
    const ring = row === null ? [] : [views.rows[row]];
    source("pointed").data = {x: ring.map((i) => x[i]), y: ring.map((i) => y[i])};
  }

  // ---------------------------------------------------------------- pointing

  // Whether the row was chosen by a pointer: then it goes with it, also where the page scrolls.
  let byPointer = false;

  function over(event) {
    if (views === null) return;
    byPointer = true;
    const area = event.currentTarget.getBoundingClientRect(), n = views.rows.length;
    const cell = (part) => Math.min(Math.max(Math.floor(part * n), 0), n - 1);
    const across = cell((event.clientX - area.left) / area.width);
    if (event.currentTarget.id !== "matrix") select(across, null);
    else select(cell((event.clientY - area.top) / area.height), across);
  }

  function start(models) {
    sources = models;
    for (const id of VIEWS) {
      by(id).addEventListener("pointermove", over);
      by(id).addEventListener("pointerdown", over);
      by(id).addEventListener("pointerleave", (event) => {
        if (views && byPointer && event.pointerType === "mouse") select(null, null);
      });
    }
    by("row").addEventListener("input", (event) => {
      byPointer = false;
      const place = Number(event.target.value);
      select(place ? place - 1 : null, null);
    });
    new ResizeObserver(() => { if (views) select(row, column); }).observe(by("linked"));
  }

  return {start, show, point, pointedAt};
})();
