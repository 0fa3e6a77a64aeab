/* A small support vector machine for the figures of the companion.

   min ½ βᵀKβ − yᵀβ  subject to  Σβ = 0 and β_i between 0 and y_i C   (β = y α),
   by SMO: the pair that violates most, second order (Fan, Chen and Lin 2005, WSS 2), until the violation is below tol.
   Tested against Mercer to 1e-6 by tests/companion/test_figures.py. */
(function (root) {
  "use strict";

  const TOL = 1e-10;
  const MAX_STEPS = 200000;
  const TINY = 1e-12; // curvature of two equal rows

  function kernel(name, gamma) {
    if (name === "rbf") {
      return (p, q) => Math.exp(-gamma * ((p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2));
    }
    return (p, q) => p[0] * q[0] + p[1] * q[1];
  }

  function matrix(points, k) {
    return points.map((p) => points.map((q) => k(p, q)));
  }

  /* Bounds of β, and e = y − Kβ: a β that may rise asks for b ≥ e, one that may fall for b ≤ e. */
  function start(points, y, C, k) {
    return {
      points, y, C, k,
      K: matrix(points, k),
      beta: y.map(() => 0),
      e: y.slice(),
      lower: y.map((s) => (s > 0 ? 0 : -C)),
      upper: y.map((s) => (s > 0 ? C : 0)),
    };
  }

  /* The pair (i falls, j rises), or null at the optimum: j violates most; i by the largest gain, or with j by the largest violation. */
  function select(s, tol, byGain = true) {
    let j = -1;
    for (let t = 0; t < s.y.length; t++) {
      if (s.beta[t] < s.upper[t] && (j < 0 || s.e[t] > s.e[j])) j = t;
    }
    if (j < 0) return null;
    let i = -1, best = 0, lowest = Infinity;
    for (let t = 0; t < s.y.length; t++) {
      if (s.beta[t] <= s.lower[t]) continue;
      lowest = Math.min(lowest, s.e[t]);
      const difference = s.e[j] - s.e[t];
      if (difference <= 0) continue;
      const eta = byGain ? Math.max(s.K[j][j] + s.K[t][t] - 2 * s.K[j][t], TINY) : 1;
      if (difference * difference / eta > best) { best = difference * difference / eta; i = t; }
    }
    return i < 0 || s.e[j] - lowest <= tol ? null : { i, j };
  }

  /* One step of the pair: δ clipped to the box. Changes β and e in place. */
  function move(s, pair) {
    const { i, j } = pair;
    const eta = s.K[i][i] + s.K[j][j] - 2 * s.K[i][j];
    const wanted = (s.e[j] - s.e[i]) / Math.max(eta, TINY);
    const room = Math.min(s.upper[j] - s.beta[j], s.beta[i] - s.lower[i]);
    const delta = Math.min(wanted, room);
    const before = [s.beta[i], s.beta[j]];
    s.beta[j] = delta === s.upper[j] - s.beta[j] ? s.upper[j] : s.beta[j] + delta;
    s.beta[i] = delta === s.beta[i] - s.lower[i] ? s.lower[i] : s.beta[i] - delta;
    for (let t = 0; t < s.y.length; t++) s.e[t] -= delta * (s.K[t][j] - s.K[t][i]);
    return { i, j, eta, wanted, delta, room, before, after: [s.beta[i], s.beta[j]] };
  }

  /* b: the middle of the interval that the conditions leave. */
  function interval(s) {
    let low = -Infinity, high = Infinity;
    for (let t = 0; t < s.y.length; t++) {
      if (s.beta[t] < s.upper[t]) low = Math.max(low, s.e[t]);
      if (s.beta[t] > s.lower[t]) high = Math.min(high, s.e[t]);
    }
    return [Math.min(low, high), Math.max(low, high)];
  }

  function describe(s) {
    const [low, high] = interval(s);
    const b = Number.isFinite(low) && Number.isFinite(high) ? (low + high) / 2 : Number.isFinite(low) ? low : high;
    const f = s.y.map((label, t) => label - s.e[t]);
    const quadratic = s.beta.reduce((sum, value, t) => sum + value * f[t], 0);
    const slack = s.y.map((label, t) => Math.max(0, 1 - label * (f[t] + b)));
    const total = slack.reduce((sum, value) => sum + value, 0);
    return {
      alpha: s.beta.map(Math.abs), beta: s.beta, b, low, high, f, slack, K: s.K,
      w: [0, 1].map((c) => s.beta.reduce((sum, value, t) => sum + value * s.points[t][c], 0)),
      norm: Math.sqrt(Math.max(0, quadratic)),
      dual: s.beta.reduce((sum, value, t) => sum + value * s.y[t], 0) - quadratic / 2,
      primal: quadratic / 2 + (Number.isFinite(s.C) ? s.C * total : total > 1e-6 ? Infinity : 0),
      decide: (p) => s.beta.reduce((sum, value, t) => (value === 0 ? sum : sum + value * s.k(s.points[t], p)), b),
    };
  }

  function fit(points, y, C, k, tol) {
    const s = start(points, y, C, k);
    let steps = 0, pair;
    for (; steps < MAX_STEPS && (pair = select(s, tol || TOL)); steps++) {
      move(s, pair);
      if (!Number.isFinite(C) && Math.abs(s.beta[pair.j]) > 1e7) break; // no plane separates: β grows without end
    }
    return Object.assign(describe(s), { steps, solved: select(s, 1e-6) === null });
  }

  /* Logistic regression ½‖w‖² + C Σ log(1 + exp(−y f)), b without penalty, by Newton steps with halving. */
  function logistic(points, y, C) {
    let v = [0, 0, 0];
    const f = (u, p) => u[0] * p[0] + u[1] * p[1] + u[2];
    const cost = (u) => (u[0] ** 2 + u[1] ** 2) / 2 +
      points.reduce((sum, p, i) => sum + C * Math.log1p(Math.exp(-y[i] * f(u, p))), 0);
    for (let round = 0; round < 60; round++) {
      const g = [v[0], v[1], 0], H = [[1, 0, 0], [0, 1, 0], [0, 0, 1e-12]];
      points.forEach((p, i) => {
        const x = [p[0], p[1], 1], q = 1 / (1 + Math.exp(y[i] * f(v, p)));
        for (let a = 0; a < 3; a++) {
          g[a] -= C * y[i] * q * x[a];
          for (let c = 0; c < 3; c++) H[a][c] += C * q * (1 - q) * x[a] * x[c];
        }
      });
      const d = solve3(H, g);
      let step = 1;
      while (step > 1e-8 && cost(v.map((value, a) => value - step * d[a])) > cost(v)) step /= 2;
      v = v.map((value, a) => value - step * d[a]);
      if (Math.hypot(...g) < 1e-12) break;
    }
    return { w: [v[0], v[1]], b: v[2] };
  }

  function solve3(A, r) {
    const M = A.map((row, i) => [...row, r[i]]);
    for (let c = 0; c < 3; c++) {
      for (let i = c + 1; i < 3; i++) {
        const factor = M[i][c] / M[c][c];
        for (let k = c; k < 4; k++) M[i][k] -= factor * M[c][k];
      }
    }
    const x = [0, 0, 0];
    for (let i = 2; i >= 0; i--) {
      x[i] = (M[i][3] - M[i].slice(i + 1, 3).reduce((s, value, k) => s + value * x[i + 1 + k], 0)) / M[i][i];
    }
    return x;
  }

  /* The dual function of min w₁² + w₂² on [−a, a] × [−2, 2]: w₂ ≥ 1, or the bent constraint. */
  function dualFunction(alpha, bent, a) {
    const w2 = Math.min(2, alpha / 2);
    const ends = bent ? Math.min(0, (1 + alpha) * a * a - (alpha / 2) * a ** 4) : 0;
    return w2 * w2 + alpha * (1 - w2) + ends;
  }

  const api = { kernel, matrix, start, select, move, describe, fit, logistic, dualFunction };
  if (typeof module !== "undefined" && module.exports) module.exports = api;
  else root.MercerSVM = api;
})(typeof window === "undefined" ? globalThis : window);
