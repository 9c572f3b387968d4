// A study's content, ready to be drawn: corners, points and anchors in the unit disc, colours, neighbours.
import { makeGrid } from "./disc.js";
import { makeClassifier } from "./classifier.js";

export function makeScene({ classes, colours, space, model, hulls: given }, points) {
  const byName = (a, b) => classes[a].localeCompare(classes[b], "en", { numeric: true }) || a - b;
  const rank = classes.map((_, column) => column).sort(byName);
  const colourOf = (column) => colours[classes[column]];
  const grid = makeGrid(space), classifier = makeClassifier(model, space.curvature);
  const hulls = given.map((hull) => ({
    ...hull,
    colour: colourOf(hull.column),
    corners: hull.rings.map((ring, i) => grid.centre(ring, hull.sectors[i])),
    outlines: hull.rings.map((ring, i) => grid.outline(ring, hull.sectors[i])),
  }));
  const seen = survey(classifier, grid.radius);
  return {
    grid, classifier, hulls, rank,
    classes: classes.map((name, column) => ({ name, column, colour: colourOf(column) })),
    references: classifier.references.filter(({ of }) => of.length === 1 || seen.touching.has(of.join())),
    points: points ? ownPoints(points, grid.root) : null,
    anchors: [],
    namePlaces: hulls.length
      ? classes.map((_, column) => amid(hulls.filter((hull) => hull.column === column)))
      : innermost(seen.best, classifier.size, grid.radius),
  };
}

/** The disc of an encoder: no classes, only anchors. */
export function makeAnchorScene({ space, xy: anchors }) {
  const grid = makeGrid(space), xy = inUnitDisc(anchors, grid.root), n = xy.length / 2;
  return {
    grid, classifier: null, hulls: [], rank: [], classes: [], references: [], points: null, namePlaces: [],
    anchors: Array.from({ length: n }, (_, i) => ({ point: [xy[2 * i], xy[2 * i + 1]] })),
  };
}

const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

function inUnitDisc(xy, root) {
  const coordinates = new Float32Array(bytesOf(xy).buffer);
  if (root !== 1) for (let i = 0; i < coordinates.length; i++) coordinates[i] *= root;
  return coordinates;
}

const ownPoints = ({ xy, columns, of }, root) => ({ xy: inUnitDisc(xy, root), columns: bytesOf(columns), of });

/** Where to write a class's name: amid the corners of its hulls. */
function amid(hulls) {
  const corners = hulls.flatMap((hull) => hull.corners);
  if (!corners.length) return null;
  return [0, 1].map((axis) => corners.reduce((sum, corner) => sum + corner[axis], 0) / corners.length);
}

const SURVEYED = 120;

/** The class at each point of a grid, −1 beyond the radius, and which classes touch somewhere: boundaries
    between the others decide nothing. */
function survey(classifier, radius) {
  const out = new Float64Array(classifier.size), touching = new Set();
  const best = new Int16Array(SURVEYED * SURVEYED).fill(-1);
  for (let i = 0, node = 0; i < SURVEYED; i++) {
    for (let j = 0; j < SURVEYED; j++, node++) {
      const [x, y] = surveyed(node, radius);
      if (x * x + y * y >= radius * radius) continue;
      classifier.logits(x, y, out);
      const top = best[node] = out.indexOf(Math.max(...out));
      for (const other of [j ? best[node - 1] : -1, i ? best[node - SURVEYED] : -1]) {
        if (other >= 0 && other !== top) touching.add(`${Math.min(top, other)},${Math.max(top, other)}`);
      }
    }
  }
  return { best, touching };
}

const surveyed = (node, radius) =>
  [node % SURVEYED, Math.floor(node / SURVEYED)].map((n) => (2 * (n + 0.5) / SURVEYED - 1) * radius);

/** For each class the point that is farthest from all others: wave after wave, regions are eaten up from
    their edges, and what is reached last is innermost. */
function innermost(best, size, radius) {
  const last = new Array(size).fill(null), reached = new Uint8Array(best.length);
  const around = (node) => [node - 1, node + 1, node - SURVEYED, node + SURVEYED];
  let wave = [...best.keys()].filter((node) => around(node).some((next) => best[next] !== best[node]));
  while (wave.length) {
    for (const node of wave) {
      reached[node] = 1;
      if (best[node] >= 0) last[best[node]] = node;
    }
    wave = [...new Set(wave.flatMap(around))].filter((node) => reached[node] === 0);
  }
  return last.map((node) => (node === null ? null : surveyed(node, radius)));
}
