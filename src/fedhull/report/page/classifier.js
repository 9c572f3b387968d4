// The published classifier, evaluated at points of the unit disc.
import { add, gap, minus } from "./disc.js";

/** {size, logits(x, y, out), references}: softmax of the logits are the classes' probabilities. A
    classifier of `waves` works out that many cosines for each point, and is evaluated at fewer points. */
export function makeClassifier(model, curvature) {
  const root = Math.sqrt(curvature);
  const kinds = { lorentz, grid, moments };
  return (kinds[model.kind] ?? oneVersusRest)(model, root);
}

export function probabilities(classifier, [x, y]) {
  const out = new Float64Array(classifier.size);
  classifier.logits(x, y, out);
  const top = Math.max(...out), weights = Array.from(out, (value) => Math.exp(value - top));
  const total = weights.reduce((a, b) => a + b);
  return weights.map((weight) => weight / total);
}

/** Logits that are affine in the coordinates (1 + r², 2x, 2y) / (1 − r²) of the hyperboloid. */
function lorentz({ coef, intercept }, root) {
  const size = intercept.length;
  const [time, east, north] = coef.map((row) => Float64Array.from(row, (value) => value / root));
  return {
    size,
    logits(x, y, out) {
      const r = x * x + y * y, lift = 1 / (1 - r);
      const a = (1 + r) * lift, b = 2 * x * lift, c = 2 * y * lift;
      for (let j = 0; j < size; j++) out[j] = time[j] * a + east[j] * b + north[j] * c + intercept[j];
    },
    references: pairs(size).flatMap(([i, j]) => {
      // the geodesic's point nearest to the origin lies along its normal
      const t = time[i] - time[j], normal = [east[i] - east[j], north[i] - north[j]];
      const length = Math.hypot(...normal);
      if (length <= Math.abs(t)) return [];
      const reach = Math.tanh(Math.atanh(-t / length) / 2) / length;
      return [reference([normal[0] * reach, normal[1] * reach], normal, [i, j])];
    }),
  };
}

/** Scores Wᵀφ with φ = cos(λB + b), B = log((1 − r²) / |x − ω|²) being the horocycle at ω. */
function moments({ coef, directions, frequencies, phases, power }) {
  const waves = phases.length, size = coef[0].length, weights = Float64Array.from(coef.flat());
  const [east, north] = [0, 1].map((axis) => Float64Array.from(directions, (way) => way[axis]));
  const often = Float64Array.from(frequencies), shift = Float64Array.from(phases);
  return {
    size, waves,
    logits(x, y, out) {
      const gap = 1 - x * x - y * y, least = gap * gap / 4, height = Math.log(gap);
      out.fill(0);
      for (let d = 0, at = 0; d < waves; d++) {
        const u = x - east[d], v = y - north[d];
        const wave = Math.cos(often[d] * (height - Math.log(Math.max(u * u + v * v, least))) + shift[d]);
        for (let j = 0; j < size; j++, at++) out[j] += weights[at] * wave;
      }
      for (let j = 0; j < size; j++) out[j] = logitOfScore(out[j], power);
    },
    references: [],
  };
}

/** What MomentClassifier.predict_proba makes of a score, as a logit: shares are scores that are cut off
    from below and raised to a power. Below the cut, a slope too small to matter keeps the order. */
function logitOfScore(score, power = 1.5, least = 0.005) {
  return power * (score > least ? Math.log(score) : Math.log(least) + 1e-9 * (score - least));
}

/** A classifier of another package: the class at each point of a grid over the disc, no doubt about it. */
function grid({ classes, size: side, columns }) {
  const column = Uint8Array.from(atob(columns), (letter) => letter.charCodeAt(0));
  const place = (value) => Math.min(side - 1, Math.max(0, Math.floor((value + 1) / 2 * side)));
  return {
    size: classes.length,
    logits(x, y, out) {
      out.fill(0);
      out[column[place(y) * side + place(x)]] = 50;
    },
    references: [],
  };
}

/** One score for each class, or one for the second of two, made comparable by Platt's a and b. */
function oneVersusRest({ scorers, classes, kind, temperature = 1 }, root) {
  const size = classes.length, binary = scorers.length === 1;
  const score = kind === "euclidean-svm" ? linearScore : geodesicScore;
  const scores = scorers.map((scorer) => score(scorer, root));
  return {
    size,
    logits(x, y, out) {
      out[0] = 0;
      for (let j = 0; j < scores.length; j++) {
        const odds = -(scorers[j].a * scores[j](x, y) + scorers[j].b);
        if (binary) out[1] = odds / temperature;
        else out[j] = (odds < -30 ? odds : -Math.log1p(Math.exp(-odds))) / temperature;
      }
    },
    references: kind === "euclidean-svm" ? [] : scorers.map(({ p, w }, j) =>
      reference([p[0] * root, p[1] * root], w, binary ? [0, 1] : [j])),
  };
}

const linearScore = ({ w, intercept }, root) => (x, y) => (w[0] * x + w[1] * y) / root + intercept;

/** ⟨log_p(x), w⟩. */
function geodesicScore({ p, w }, root) {
  const base = p.map((value) => value * root), near = gap(base);
  return (x, y) => {
    const [u, v] = add(minus(base), [x, y]), norm = Math.hypot(u, v);
    if (norm === 0) return 0;
    const apart = Math.hypot(x - base[0], y - base[1]) / Math.sqrt(near * (1 - x * x - y * y));
    return near / root * Math.asinh(apart) * (u * w[0] + v * w[1]) / norm;
  };
}

/** A reference point and the two ends, on the rim, of its geodesic; `of` are the classes' columns. */
function reference(point, normal, of) {
  const length = Math.hypot(...normal), across = [-normal[1] / length, normal[0] / length];
  return { point, ends: [add(point, across), add(point, minus(across))], of };
}

function pairs(n) {
  return Array.from({ length: n }, (_, i) => Array.from({ length: i }, (_, j) => [j, i])).flat();
}
