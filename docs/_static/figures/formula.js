/* A kernel written as a formula: parsed, never evaluated as code; its matrix on the twelve points and the smallest eigenvalue.

   expression = term { (+ | −) term };  term = factor { (* | /) factor };  factor = [−] power;  power = atom [^ factor]
   atom = number | name | name ( expression { , expression } ) | ( expression ) */
(function (root) {
  "use strict";
  const FUNCTIONS = { exp: Math.exp, tanh: Math.tanh, sqrt: Math.sqrt, abs: Math.abs, cos: Math.cos, sin: Math.sin, log: Math.log, min: Math.min, max: Math.max };
  const TWO = new Set(["min", "max"]);
  const NAMES = {
    dot: (x, z) => x[0] * z[0] + x[1] * z[1],
    dist2: (x, z) => (x[0] - z[0]) ** 2 + (x[1] - z[1]) ** 2,
    x1: (x) => x[0], x2: (x) => x[1], z1: (x, z) => z[0], z2: (x, z) => z[1],
  };

  function tokens(text) {
    const found = [], pattern = /\s*(?:(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)|([a-z]\w*)|([-+*/^(),]))/iy;
    let at = 0;
    while (at < text.trimEnd().length) {
      pattern.lastIndex = at;
      const match = pattern.exec(text);
      if (!match) throw new Error(`“${text.slice(at).trim()[0]}” is not part of a formula`);
      found.push(match[1] !== undefined ? { number: Number(match[1]) } : match[2] !== undefined ? { name: match[2] } : { sign: match[3] });
      at = pattern.lastIndex;
    }
    return found;
  }

  /* A function (x, z) → number, or an Error with a sentence for the user. */
  function parse(text) {
    const list = tokens(text.replace(/−/g, "-").replace(/·|×/g, "*"));
    let at = 0;
    const next = (sign) => at < list.length && list[at].sign === sign && ++at > 0;
    const expect = (sign) => { if (!next(sign)) throw new Error(`“${sign}” is missing`); };
    function expression() {
      let left = term();
      for (;;) {
        const before = left;
        if (next("+")) { const right = term(); left = (x, z) => before(x, z) + right(x, z); }
        else if (next("-")) { const right = term(); left = (x, z) => before(x, z) - right(x, z); }
        else return left;
      }
    }
    function term() {
      let left = factor();
      for (;;) {
        const before = left;
        if (next("*")) { const right = factor(); left = (x, z) => before(x, z) * right(x, z); }
        else if (next("/")) { const right = factor(); left = (x, z) => before(x, z) / right(x, z); }
        else return left;
      }
    }
    function factor() {
      if (next("-")) { const inner = factor(); return (x, z) => -inner(x, z); }
      const base = atom();
      if (!next("^")) return base;
      const exponent = factor();
      return (x, z) => base(x, z) ** exponent(x, z);
    }
    function atom() {
      if (next("(")) { const inner = expression(); expect(")"); return inner; }
      const token = list[at++];
      if (!token || token.sign) throw new Error(token ? `“${token.sign}” stands where a value is needed` : "the formula ends too early");
      if (token.number !== undefined) return () => token.number;
      if (Object.hasOwn(FUNCTIONS, token.name)) {
        expect("(");
        const given = [expression()];
        while (next(",")) given.push(expression());
        expect(")");
        if (given.length !== (TWO.has(token.name) ? 2 : 1)) throw new Error(`${token.name} has ${given.length} values in its brackets`);
        return (x, z) => FUNCTIONS[token.name](...given.map((value) => value(x, z)));
      }
      if (Object.hasOwn(NAMES, token.name)) return NAMES[token.name];
      throw new Error(`“${token.name}” is unknown; names are ${Object.keys(NAMES).join(", ")}`);
    }
    const whole = expression();
    if (at < list.length) throw new Error("there is something after the end of the formula");
    return whole;
  }

  /* Eigenvalues of a symmetric matrix by Jacobi's rotations, smallest first. */
  function eigenvalues(K) {
    const A = K.map((row) => row.slice()), n = A.length;
    for (let sweep = 0; sweep < 60; sweep++) {
      let off = 0;
      for (let p = 0; p < n; p++) {
        for (let q = p + 1; q < n; q++) {
          off = Math.max(off, Math.abs(A[p][q]));
          if (A[p][q] === 0) continue;
          const t0 = (A[q][q] - A[p][p]) / (2 * A[p][q]);
          const t = (t0 >= 0 ? 1 : -1) / (Math.abs(t0) + Math.hypot(1, t0)), c = 1 / Math.hypot(1, t), s = t * c;
          for (let k = 0; k < n; k++) { const u = A[k][p], v = A[k][q]; A[k][p] = c * u - s * v; A[k][q] = s * u + c * v; }
          for (let k = 0; k < n; k++) { const u = A[p][k], v = A[q][k]; A[p][k] = c * u - s * v; A[q][k] = s * u + c * v; }
        }
      }
      if (off < 1e-14) break;
    }
    return A.map((row, i) => row[i]).sort((a, b) => a - b);
  }

  function verdict(text, points) {
    const k = parse(text), K = points.map((x) => points.map((z) => k(x, z))), top = Math.max(...K.flat().map(Math.abs));
    if (!K.flat().every(Number.isFinite)) return { K: null, words: "The formula has no finite value for some pair." };
    for (let i = 0; i < K.length; i++) for (let j = 0; j < i; j++) if (Math.abs(K[i][j] - K[j][i]) > 1e-9 * top) return { K, words: `Not a kernel: not symmetric, rows ${j + 1} and ${i + 1} differ.` };
    const values = eigenvalues(K);
    const words = values[0] < -1e-9 * Math.max(1, top)
      ? `Not a kernel: the matrix of the twelve points has the eigenvalue ${values[0].toFixed(3).replace("-", "−")}.`
      : `No counterexample on the twelve points: smallest eigenvalue ${Math.abs(values[0]) < 1e-9 ? 0 : values[0].toPrecision(3)}. Other rows could still give one.`;
    return { K, values, words };
  }

  const api = { parse, eigenvalues, verdict };
  if (typeof module !== "undefined" && module.exports) { module.exports = api; return; }
  const D = root.MercerDraw;
  const SAMPLES = ["dot", "(1 + dot)^2", "exp(-0.1 * dist2)", "tanh(1 + dot)", "-dist2", "min(x1, z1)", "cos(x1 - z1)", "x1 * z2"];
  root.MercerFigures.formula = function (host) {
    const controls = D.el("div", { class: "mf-controls" }), read = D.el("p", { class: "mf-read", "aria-live": "polite" });
    const input = D.el("input", { type: "text", value: "tanh(1 + dot)", size: 26, spellcheck: "false", "aria-label": "k(x, z) as a formula of dot, dist2, x1, x2, z1, z2" });
    const choice = D.el("select", { "aria-label": "Examples" }, ...SAMPLES.map((text) => D.el("option", text === input.value ? { selected: "" } : {}, text)));
    controls.append(D.el("span", {}, "k(x, z) ="), input, choice);
    const box = D.svg("svg", { viewBox: "0 0 240 240", class: "mf-panel", role: "img", "aria-label": "Kernel matrix of the twelve points" });
    const cells = Array.from({ length: 144 }, (_, t) => D.svg("rect", { x: (t % 12) * 20, y: Math.floor(t / 12) * 20, width: 20, height: 20 }, box));
    host.append(controls, box, read);
    function draw() {
      try {
        const found = verdict(input.value, D.TWELVE);
        const top = found.K ? Math.max(...found.K.flat().map(Math.abs), 1e-9) : 1;
        cells.forEach((cell, t) => { const v = found.K ? found.K[Math.floor(t / 12)][t % 12] / top : 0; D.set(cell, { "fill-opacity": Math.abs(v).toFixed(3), class: v < 0 ? "mf-b" : "mf-a" }); });
        read.textContent = found.words;
      } catch (problem) {
        read.textContent = `Not understood: ${problem.message}.`;
      }
    }
    input.addEventListener("input", draw);
    choice.addEventListener("change", () => { input.value = choice.value; draw(); });
    draw();
    return { draw, input };
  };
})(typeof window === "undefined" ? globalThis : window);
