// Draws a scene on a canvas, seen through a view.
//
// A view is {centre, scale, x, y}: the point z of the disc appears at w = (−centre) ⊕ z, and w at the
// pixel (x + scale·w₀, y − scale·w₁).
import { add, geodesicCircle, minus, movedCircle } from "./disc.js";
import { paintLabels, placeLabels } from "./labels.js";

/** What the theme says about colours that are not a class's. */
export function inks(element) {
  const style = getComputedStyle(element);
  const [ink, muted, line, paper, accent] = ["--ink", "--muted", "--line", "--disc", "--accent"].map((name) =>
    style.getPropertyValue(name).trim());
  return { ink, muted, line, paper, accent, font: style.fontFamily };
}

/** Draw. `shown` says which layers and which columns (classes) are wanted; `coarse` asks for speed. The
    names that were written, and where. */
export function paint(context, scene, view, shown, theme, coarse = false) {
  const { width, height } = context.canvas, ratio = view.ratio ?? 1;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width, height);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.lineJoin = "round";
  const brush = { context, view, theme, shown, show: (column) => shown.columns[column] !== false };
  circle(context, view, { x: 0, y: 0, radius: 1 });
  context.fillStyle = theme.paper;
  context.fill();
  context.save();
  context.clip();
  if (shown.regions || shown.boundaries) paintRegions(brush, scene, coarse);
  paintReach(brush, scene);
  if (shown.points && scene.points) paintPoints(brush, scene.points, scene.classes, coarse);
  if (shown.anchors) paintAnchors(brush, scene.anchors);
  if (shown.bins) paintBins(brush, scene.hulls, coarse);
  if (shown.hulls) scene.hulls.forEach((hull) => paintHull(brush, hull));
  if (shown.references) scene.references.forEach((reference) => paintReference(brush, reference));
  context.restore();
  // a canvas with a disc on it is cut off round
  const half = width / ratio / 2, room = { x: half, y: half, radius: half };
  const labels = shown.names ? placeLabels(context, wantedNames(brush, scene), room, theme.font) : [];
  paintLabels(context, labels, theme);
  circle(context, view, { x: 0, y: 0, radius: 1 });
  context.strokeStyle = theme.muted;
  context.lineWidth = 1;
  context.stroke();
  return labels;
}

export const toPixel = (view, [u, v]) => [view.x + view.scale * u, view.y - view.scale * v];

function circle(context, view, { x, y, radius }) {
  context.beginPath();
  context.arc(...toPixel(view, [x, y]), radius * view.scale, 0, 2 * Math.PI);
}

/** The circle of radius R, beyond which no point of the study lies, if it says so. */
function paintReach({ context, view, theme }, { grid }) {
  if (grid.radius === 1) return;
  circle(context, view, movedCircle([0, 0], grid.radius, view.centre));
  context.setLineDash([3, 4]);
  context.strokeStyle = theme.line;
  context.lineWidth = 1;
  context.stroke();
  context.setLineDash([]);
}

/** Continue the path from p to q, both as seen, along the geodesic between them. */
function geodesicTo(context, view, p, q) {
  const round = geodesicCircle(p, q);
  if (!round || round.radius * view.scale > 2e4) {
    context.lineTo(...toPixel(view, q));
    return;
  }
  const from = Math.atan2(-(p[1] - round.y), p[0] - round.x);
  const to = Math.atan2(-(q[1] - round.y), q[0] - round.x);
  const turn = ((to - from + 3 * Math.PI) % (2 * Math.PI)) - Math.PI;
  context.arc(...toPixel(view, [round.x, round.y]), round.radius * view.scale, from, to, turn < 0);
}

function paintHull({ context, view, shown, theme, show }, hull) {
  if (!show(hull.column)) return;
  const corners = hull.corners.map((corner) => add(minus(view.centre), corner));
  const colour = shown.plain ? theme.muted : hull.colour;
  context.beginPath();
  context.moveTo(...toPixel(view, corners[0]));
  corners.forEach((corner, i) => geodesicTo(context, view, corner, corners[(i + 1) % corners.length]));
  context.closePath();
  context.globalAlpha = shown.faint ? 0.05 : 0.09;
  context.fillStyle = colour;
  context.fill();
  context.globalAlpha = shown.faint ? 0.5 : 1;
  context.strokeStyle = colour;
  context.lineWidth = 1.25;
  context.stroke();
  context.globalAlpha = 1;
  if (shown.corners) corners.forEach((corner) => dot(context, toPixel(view, corner), 2.2, colour));
}

function paintBins({ context, view, theme, shown, show }, hulls, coarse) {
  context.lineWidth = 0.8;
  for (const { column, corners, outlines, colour } of hulls) {
    if (!show(column)) continue;
    const ink = shown.plain ? theme.muted : colour;
    context.fillStyle = context.strokeStyle = ink;
    outlines.forEach((outline, i) => {
      const centre = toPixel(view, add(minus(view.centre), corners[i]));
      const edge = toPixel(view, add(minus(view.centre), outline[1]));
      // a bin smaller than this is shown as a dot, which is larger than it
      if (Math.hypot(edge[0] - centre[0], edge[1] - centre[1]) < 2.2) {
        context.fillRect(centre[0] - 1.75, centre[1] - 1.75, 3.5, 3.5);
      } else {
        polygon(context, view, outline);
        context.globalAlpha = 0.45;
        context.fill();
        context.globalAlpha = 1;
        if (!coarse) context.stroke();
      }
    });
  }
}

export function polygon(context, view, outline) {
  context.beginPath();
  for (const corner of outline) context.lineTo(...toPixel(view, add(minus(view.centre), corner)));
  context.closePath();
}

/** A thin dashed geodesic through the reference point, as long as one of its classes is shown. */
function paintReference({ context, view, theme, show }, { point, ends, of }) {
  if (!of.some(show)) return;
  const [p, q, middle] = [...ends, point].map((z) => add(minus(view.centre), z));
  context.beginPath();
  context.moveTo(...toPixel(view, p));
  geodesicTo(context, view, p, q);
  context.setLineDash([1, 4]);
  context.strokeStyle = theme.ink;
  context.globalAlpha = 0.55;
  context.lineWidth = 1;
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 1;
  dot(context, toPixel(view, middle), 3.4, theme.paper);
  dot(context, toPixel(view, middle), 2.4, theme.ink);
}

/** A dot for each anchor. */
function paintAnchors({ context, view, theme }, anchors) {
  const usual = Math.max(2, Math.min(5, 90 / Math.sqrt(anchors.length))) * Math.min(2, view.zoom ?? 1);
  const centre = minus(view.centre);
  context.globalAlpha = 0.7;
  for (const { point } of anchors) {
    dot(context, toPixel(view, add(centre, point)), usual, theme.accent);
  }
  context.globalAlpha = 1;
}

function dot(context, [x, y], radius, colour) {
  context.fillStyle = colour;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

/** The classes that are shown and have a place, where it is seen. */
const wantedNames = ({ view, show }, { classes, namePlaces }) =>
  classes.filter(({ column }) => show(column) && namePlaces[column]).map(({ name, column }) => {
    const [x, y] = toPixel(view, add(minus(view.centre), namePlaces[column]));
    return { name, x, y };
  });

// Points are written straight into an image: a hundred thousand take a few milliseconds that way.

const MOST_WHILE_MOVING = 40_000;
const cloud = document.createElement("canvas");

function paintPoints({ context, view, show }, { xy, columns }, classes, coarse) {
  const full = view.ratio ?? 1, ratio = coarse ? 1 : full;
  const [width, height] = [context.canvas.width, context.canvas.height].map((n) => Math.round(n / full * ratio));
  if (cloud.width !== width || cloud.height !== height) Object.assign(cloud, { width, height });
  const pen = cloud.getContext("2d"), image = pen.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const inkOf = Uint32Array.from({ length: 256 }, (_, column) => {
    const colour = parseInt((classes[column]?.colour ?? "#888888").slice(1), 16);
    return show(column) ? 0xc0000000 | (colour & 255) << 16 | colour & 0xff00 | colour >> 16 : 0;
  });
  const n = columns.length, step = coarse ? Math.ceil(n / MOST_WHILE_MOVING) : 1;
  const [a, b] = [-view.centre[0], -view.centre[1]];
  const size = Math.max(1, Math.round((n > 20_000 ? 1.2 : 2.2) * ratio * Math.min(2, view.zoom ?? 1)));
  const scale = view.scale * ratio, left = view.x * ratio - size / 2, top = view.y * ratio - size / 2;
  for (let i = 0; i < n; i += step) {
    const ink = inkOf[columns[i]];
    if (ink === 0) continue;
    const x = xy[2 * i], y = xy[2 * i + 1];
    const re = 1 + a * x + b * y, im = a * y - b * x, norm = re * re + im * im, u = a + x, v = b + y;
    const column = Math.round(left + scale * (u * re + v * im) / norm);
    const row = Math.round(top - scale * (v * re - u * im) / norm);
    if (column < 0 || row < 0 || column + size > width || row + size > height) continue;
    for (let r = row; r < row + size; r++) pixels.fill(ink, r * width + column, r * width + column + size);
  }
  pen.putImageData(image, 0, 0);
  context.drawImage(cloud, 0, 0, width / ratio, height / ratio);
}

// Regions: the classifier on a grid of pixels, shaded by how sure it is; boundaries where neighbours
// in the grid disagree, at the place where the two classes' logits meet.

const MOST_LOGITS = 1_500_000;
// cosines take longer: about 20 ms while something moves, 150 ms when it has come to rest
const MOST_WAVES = 4_500_000, MOST_WAVES_MOVING = 300_000;
const RIM = 0.99999;
const shades = document.createElement("canvas");

function paintRegions({ context, view, shown, show, theme }, scene, coarse) {
  const { width, height } = context.canvas, ratio = view.ratio ?? 1;
  const w = width / ratio, h = height / ratio, { size, waves = 0 } = scene.classifier;
  const step = Math.max(coarse ? 7 : 2, Math.sqrt(w * h * size / MOST_LOGITS),
    Math.sqrt(w * h * waves / (coarse ? MOST_WAVES_MOVING : MOST_WAVES)));
  const columns = Math.ceil(w / step) + 1, rows = Math.ceil(h / step) + 1;
  const { logits, best } = evaluate(scene, view, step, columns, rows);
  context.save();
  if (scene.grid.radius < 1) {
    circle(context, view, movedCircle([0, 0], scene.grid.radius, view.centre));
    context.clip();
  }
  if (shown.regions) {
    Object.assign(shades, { width: columns, height: rows });
    const pen = shades.getContext("2d"), image = pen.createImageData(columns, rows);
    shade(image.data, logits, best, scene.classes, show);
    pen.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = true;
    context.imageSmoothingQuality = "high";
    context.drawImage(shades, -step / 2, -step / 2, columns * step, rows * step);
  }
  if (shown.boundaries) {
    context.beginPath();
    traceBoundaries(context, logits, best, size, step, columns, rows, show);
    context.strokeStyle = theme.ink;
    context.globalAlpha = 0.75;
    context.lineWidth = 1.1;
    context.stroke();
  }
  context.restore();
}

/** Logits at the grid's nodes, and each node's class; −1 outside the disc. Nodes just outside take
    the values of the rim, so that the picture can be cut off at the circle of radius R. */
function evaluate({ classifier }, view, step, columns, rows) {
  const { size } = classifier, [a, b] = view.centre, reach = (1 + 2 * step / view.scale) ** 2;
  const logits = new Float64Array(columns * rows * size), best = new Int16Array(columns * rows).fill(-1);
  const out = new Float64Array(size);
  for (let i = 0, node = 0; i < rows; i++) {
    const y = (view.y - i * step) / view.scale;
    for (let j = 0; j < columns; j++, node++) {
      const x = (j * step - view.x) / view.scale, r = x * x + y * y;
      if (r > reach) continue;
      // centre ⊕ w, written out: this is the innermost loop
      const shrink = r > RIM ? Math.sqrt(RIM / r) : 1, s = x * shrink, t = y * shrink;
      const re = 1 + a * s + b * t, im = a * t - b * s, norm = re * re + im * im, u = a + s, v = b + t;
      classifier.logits((u * re + v * im) / norm, (v * re - u * im) / norm, out);
      let top = 0;
      for (let c = 1; c < size; c++) if (out[c] > out[top]) top = c;
      best[node] = top;
      logits.set(out, node * size);
    }
  }
  return { logits, best };
}

function shade(pixels, logits, best, classes, show) {
  const size = classes.length;
  const inks = classes.map(({ colour }) => parseInt(colour.slice(1), 16));
  for (let node = 0; node < best.length; node++) {
    const top = best[node];
    if (top < 0 || !show(top)) continue;
    let total = 0;
    for (let c = 0; c < size; c++) total += Math.exp(logits[node * size + c] - logits[node * size + top]);
    const sure = (1 / total - 1 / size) / (1 - 1 / size), at = 4 * node, ink = inks[top];
    pixels[at] = ink >> 16;
    pixels[at + 1] = ink >> 8 & 255;
    pixels[at + 2] = ink & 255;
    pixels[at + 3] = 14 + 58 * sure;
  }
}

/** In each cell of the grid, join the places on its sides where the class changes. */
function traceBoundaries(context, logits, best, size, step, columns, rows, show) {
  const crossing = (m, n, [x, y], [dx, dy]) => {
    const i = best[m], j = best[n];
    if (i === j || i < 0 || j < 0 || !(show(i) || show(j))) return null;
    const here = logits[m * size + i] - logits[m * size + j];
    const there = logits[n * size + j] - logits[n * size + i];
    const share = here / (here + there);
    return [(x + share * dx) * step, (y + share * dy) * step];
  };
  for (let i = 0; i + 1 < rows; i++) {
    for (let j = 0; j + 1 < columns; j++) {
      const node = i * columns + j, below = node + columns, top = best[node];
      if (top === best[node + 1] && top === best[below] && top === best[below + 1]) continue;
      const found = [
        crossing(node, node + 1, [j, i], [1, 0]), crossing(node, below, [j, i], [0, 1]),
        crossing(node + 1, below + 1, [j + 1, i], [0, 1]), crossing(below, below + 1, [j, i + 1], [1, 0]),
      ].filter(Boolean);
      if (found.length === 2) {
        context.moveTo(...found[0]);
        context.lineTo(...found[1]);
      } else if (found.length > 2) {
        // three classes meet in this cell
        const middle = [0, 1].map((axis) => found.reduce((sum, p) => sum + p[axis], 0) / found.length);
        for (const end of found) { context.moveTo(...middle); context.lineTo(...end); }
      }
    }
  }
}
