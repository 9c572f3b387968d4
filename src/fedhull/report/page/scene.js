// A study's content, ready to be drawn: corners and points in the unit disc, colours, neighbours.
import { makeGrid } from "./disc.js";
import { makeClassifier } from "./classifier.js";

export function makeScene(content) {
  // colours in the order of names, whatever the order of the classifier's columns
  const { classes, palette } = content;
  const byName = (a, b) => classes[a].localeCompare(classes[b], "en", { numeric: true }) || a - b;
  const rank = classes.map((_, column) => column).sort(byName);
  const colourOf = (column) => palette[rank.indexOf(column) % palette.length];
  const grid = makeGrid(content.space), classifier = makeClassifier(content.model, content.space.curvature);
  const hulls = content.hulls.map((hull) => ({
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
    points: content.points ? ownPoints(content.points, grid.root) : null,
    anchors: hulls.length
      ? classes.map((_, column) => anchor(hulls.filter((hull) => hull.column === column)))
      : seen.regions.map(amid),
  };
}

function ownPoints({ xy, columns, of }, root) {
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const coordinates = new Float32Array(bytes(xy).buffer);
  if (root !== 1) for (let i = 0; i < coordinates.length; i++) coordinates[i] *= root;
  return { xy: coordinates, columns: bytes(columns), of };
}

/** Where to write a class's name: amid the corners of its hulls. */
function anchor(hulls) {
  const corners = hulls.flatMap((hull) => hull.corners);
  if (!corners.length) return null;
  return [0, 1].map((axis) => corners.reduce((sum, corner) => sum + corner[axis], 0) / corners.length);
}

/** The point of a region nearest to its middle, which may lie outside. */
function amid(points) {
  if (!points.length) return null;
  const middle = [0, 1].map((axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length);
  const away = ([x, y]) => Math.hypot(x - middle[0], y - middle[1]);
  return points.reduce((nearest, point) => (away(point) < away(nearest) ? point : nearest));
}

/** Points of a grid, by class, and which classes touch somewhere: boundaries between the others decide
    nothing. */
function survey(classifier, radius, cells = 120) {
  const out = new Float64Array(classifier.size), touching = new Set();
  const regions = Array.from({ length: classifier.size }, () => []);
  let above = [];
  for (let i = 0; i < cells; i++) {
    const row = [];
    for (let j = 0; j < cells; j++) {
      const x = (2 * (j + 0.5) / cells - 1) * radius, y = (2 * (i + 0.5) / cells - 1) * radius;
      if (x * x + y * y >= radius * radius) { row.push(-1); continue; }
      classifier.logits(x, y, out);
      const best = out.indexOf(Math.max(...out));
      for (const other of [row[j - 1], above[j]]) {
        if (other >= 0 && other !== best) touching.add(`${Math.min(best, other)},${Math.max(best, other)}`);
      }
      row.push(best);
      regions[best].push([x, y]);
    }
    above = row;
  }
  return { touching, regions };
}
