// Geometry of the unit disc, curvature −1. Points are [x, y]. A disc of curvature −k is scaled to
// this one by √k on the way in (scene.js) and back where coordinates are told (viewer.js).

/** c ⊕ z = (c + z) / (1 + c̄z), the disc's addition. */
export function add([a, b], [x, y]) {
  const re = 1 + a * x + b * y, im = a * y - b * x;
  const norm = re * re + im * im, u = a + x, v = b + y;
  return [(u * re + v * im) / norm, (v * re - u * im) / norm];
}

export const minus = ([x, y]) => [-x, -y];

/** The centre c of the view z ↦ (−c) ⊕ z that shows the point p at the place b:
    (p − c) / (1 − c̄p) = b, a linear equation in c and c̄. */
export function centreShowing(p, b) {
  const m = [b[0] * p[0] - b[1] * p[1], b[0] * p[1] + b[1] * p[0]];
  const u = [p[0] - b[0], p[1] - b[1]];
  const gap = 1 - (m[0] * m[0] + m[1] * m[1]);
  return [(u[0] + m[0] * u[0] + m[1] * u[1]) / gap, (u[1] + m[1] * u[0] - m[0] * u[1]) / gap];
}

export function distance(p, q) {
  const d = Math.hypot(q[0] - p[0], q[1] - p[1]);
  return 2 * Math.asinh(d / Math.sqrt(gap(p) * gap(q)));
}

export const gap = ([x, y]) => 1 - x * x - y * y;

/** The point a share t of the way from p to q. */
export function along(p, q, t) {
  const way = add(minus(p), q), norm = Math.hypot(...way);
  if (norm === 0) return p;
  const step = Math.tanh(t * Math.atanh(Math.min(norm, 1 - 1e-15))) / norm;
  return add(p, [way[0] * step, way[1] * step]);
}

/** The point no farther out than `most`, for pointers that leave the disc. */
export function inside([x, y], most = 0.995) {
  const norm = Math.hypot(x, y);
  return norm <= most ? [x, y] : [x * most / norm, y * most / norm];
}

/** The circle on which the geodesic through p and q lies, or null where it is nearly straight:
    its centre m has 2⟨m, p⟩ = 1 + |p|² and the same for q. */
export function geodesicCircle(p, q) {
  const cross = 2 * (p[0] * q[1] - p[1] * q[0]);
  const s = 2 - gap(p), t = 2 - gap(q);
  const x = (s * q[1] - t * p[1]) / cross, y = (t * p[0] - s * q[0]) / cross;
  const radius = Math.hypot(p[0] - x, p[1] - y);
  return Number.isFinite(radius) && radius < 1e4 ? { x, y, radius } : null;
}

/** A circle of the disc under z ↦ (−c) ⊕ z, from three of its points. */
export function movedCircle(centre, radius, c) {
  const [p, q, r] = [0, 2, 4].map((i) => {
    const angle = i * Math.PI / 3;
    return add(minus(c), [centre[0] + radius * Math.cos(angle), centre[1] + radius * Math.sin(angle)]);
  });
  const d = 2 * (p[0] * (q[1] - r[1]) + q[0] * (r[1] - p[1]) + r[0] * (p[1] - q[1]));
  const [a, b, e] = [p, q, r].map(([x, y]) => x * x + y * y);
  const x = (a * (q[1] - r[1]) + b * (r[1] - p[1]) + e * (p[1] - q[1])) / d;
  const y = (a * (r[0] - q[0]) + b * (p[0] - r[0]) + e * (q[0] - p[0])) / d;
  return { x, y, radius: Math.hypot(p[0] - x, p[1] - y) };
}

/** The polar grid of bins: `rings` equal steps of hyperbolic radius, `angles` sectors. A disc without
    bins has a scale, and perhaps a radius that holds all points. */
export function makeGrid(space) {
  const root = Math.sqrt(space.curvature);
  if (space.rings === undefined) return { root, radius: space.radius === null ? 1 : root * space.radius };
  const reach = 2 * Math.atanh(root * space.radius);
  const depth = reach / space.rings, width = 2 * Math.PI / space.angles;
  const at = (ring, sector) => {
    const norm = Math.tanh(ring * depth / 2), angle = sector * width;
    return [norm * Math.cos(angle), norm * Math.sin(angle)];
  };
  return {
    root,
    radius: root * space.radius,
    width: space.epsilon * root,
    centre: (ring, sector) => at(ring - 0.5, sector - 0.5),
    outline: (ring, sector) => [
      at(ring - 1, sector - 1), at(ring, sector - 1), at(ring, sector - 0.5),
      at(ring, sector), at(ring - 1, sector), at(ring - 1, sector - 0.5),
    ],
    number: (ring, sector) => BigInt(ring - 1) * BigInt(space.angles) + BigInt(sector),
  };
}
