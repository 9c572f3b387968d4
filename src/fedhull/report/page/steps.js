// The protocol step by step, with this study's hulls and numbers.
import { el, shortened, svg } from "./dom.js";
import { add, minus } from "./disc.js";
import { titleAt } from "./labels.js";
import { inks, paint, polygon } from "./paint.js";

export function makeStepper(scene, steps, shared, mark) {
  const picture = el("div", { class: "picture" });
  const text = el("div", { class: "telling", "aria-live": "polite" });
  const tabs = steps.map((step, i) => el("button", { type: "button", onclick: () => go(i) },
    el("span", {}, String(i + 1)), el("em", {}, step.title)));
  const back = el("button", { type: "button", onclick: () => go(stepper.at - 1) }, "← Back");
  const next = el("button", { type: "button", class: "main", onclick: () => go(stepper.at + 1) }, "Next →");
  const stepper = { at: 0, go: (i) => go(i) };
  const drawn = (step) => PICTURES[step.picture](scene, step, shared);
  const told = (step, i) => [
    el("h3", {}, `${i + 1}. ${step.title}`), el("p", {}, step.words),
    el("dl", { class: "facts" }, step.facts.map(([value, label]) =>
      el("div", {}, el("dt", {}, value), el("dd", {}, label)))),
  ];
  const go = (i) => {
    stepper.at = Math.max(0, Math.min(steps.length - 1, i));
    tabs.forEach((tab, j) => tab.setAttribute("aria-current", j === stepper.at ? "step" : "false"));
    back.disabled = stepper.at === 0;
    next.disabled = stepper.at === steps.length - 1;
    text.replaceChildren(...told(steps[stepper.at], stepper.at));
    mark(text);
    picture.replaceChildren(drawn(steps[stepper.at]));
  };
  go(0);
  const keys = { ArrowLeft: -1, ArrowRight: 1 };
  const pages = el("div", {
    class: "stepper",
    onkeydown: (event) => { if (keys[event.key]) { go(stepper.at + keys[event.key]); event.preventDefault(); } },
  },
    el("nav", { "aria-label": "Steps" }, tabs), picture,
    el("div", { class: "words" }, text, el("div", { class: "buttons" }, back, next)));
  // nobody turns the pages of a print
  const paper = el("div", { class: "all-steps" });
  const print = () => paper.replaceChildren(...steps.map((step, i) =>
    el("div", { class: "on-paper" }, el("div", { class: "picture" }, drawn(step)), el("div", { class: "words" }, told(step, i)))));
  return Object.assign(stepper, { element: [pages, paper], redraw: () => go(stepper.at), print });
}

const SIDE = 340;

const PICTURES = {
  hull: (scene) => disc(scene, onePlace(scene), { hulls: true, corners: true, points: true }),
  bins: closeUp,
  corners: (scene, step, shared) => labelCodes(shared, meeting),
  codes: (scene, step, shared) => labelCodes(shared, sumOfCodes),
  sums: (scene, step) => noiseAbove(step),
  decoded: (scene) => disc(scene, scene.hulls, { hulls: true, bins: true, plain: true }),
  grouped: (scene) => disc(scene, scene.hulls, { hulls: true, bins: true, names: true }),
  boundary: (scene) => disc(scene, scene.hulls, { hulls: true, faint: true, regions: true, boundaries: true }),
  points: (scene) => disc(scene, [], { points: true, names: true }),
  cross: (scene) => horocycles(scene, 4),
  table: (scene, step) => rowsOf(step),
  waves: (scene) => horocycles(scene, 12),
};

/** The hulls of one place in the order: one site's, whichever it is. */
function onePlace({ hulls }) {
  return hulls.filter((hull) => hull.place === hulls[0].place);
}

function disc(scene, hulls, layers, view = {}) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const side = SIDE * ratio;
  const canvas = el("canvas", { width: side, height: side, role: "img", "aria-label": "The disc at this step" });
  const theme = inks(document.body);
  const whole = { centre: [0, 0], scale: SIDE / 2 - 2, x: SIDE / 2, y: SIDE / 2, ratio, ...view };
  const labels = paint(canvas.getContext("2d"), { ...scene, hulls }, whole, { columns: [], ...layers }, theme);
  canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
    const scale = SIDE / canvas.clientWidth;
    canvas.title = titleAt(labels, offsetX * scale, offsetY * scale);
  });
  return canvas;
}

/** The outermost corner of one site's hulls, so near that its bin and those around it can be seen. */
function closeUp(scene) {
  const { grid } = scene, hulls = onePlace(scene);
  const [ring, sector] = hulls.flatMap((hull) => hull.rings.map((ring, i) => [ring, hull.sectors[i]]))
    .reduce((outermost, corner) => (corner[0] > outermost[0] ? corner : outermost));
  const view = { centre: grid.centre(ring, sector), scale: Math.max(SIDE / 2 - 2, 150 / grid.width) };
  const canvas = disc(scene, hulls, { hulls: true, bins: true, points: true }, view);
  const context = canvas.getContext("2d");
  context.strokeStyle = inks(document.body).muted;
  context.globalAlpha = 0.35;
  context.lineWidth = 0.7;
  for (let r = Math.max(1, ring - 12); r <= ring + 4; r++) {
    for (let s = sector - 14; s <= sector + 14; s++) {
      polygon(context, { ...view, x: SIDE / 2, y: SIDE / 2 }, grid.outline(r, s));
      context.stroke();
    }
  }
  return canvas;
}

const meeting = ({ bin, labels }) => [
  el("p", {}, labels.length === 1 ? "A corner in bin " : `${labels.length} labels meet in bin `,
    el("b", {}, grouped(bin)), labels.length === 1 ? " is the number" : ". Their corners there are the numbers"),
];

const sumOfCodes = ({ bin, value, labels }) => [
  el("p", {}, "In the sum, bin ", el("b", {}, grouped(bin)), " holds the number"),
  el("p", { class: "big" }, grouped(value)),
  el("p", {}, labels.length === 1 ? "which is the code of one label:"
    : `which is a sum of ${labels.length} codes in only one way:`),
];

/** What stands in one bin of the sum: corners, or a number that splits into codes. */
function labelCodes(shared, told) {
  return el("div", { class: "split" },
    ...told(shared),
    pairTable(shared.labels.map((label, i) => [`label ${label + 1}`, grouped(shared.codes[i])])));
}

const pairTable = (rows) => el("table", {}, el("tbody", {}, rows.map(([name, value]) =>
  el("tr", {}, el("th", { scope: "row", title: name }, shortened(name, 24)), el("td", { class: "number" }, value)))));

const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ",");

/** Rows of noise above what they add up to, or what one can open: an illustration, masks and sealed
    entries are nobody's to see. */
function noiseAbove({ title, rows, caption }) {
  const cells = 13, width = 18, row = 34, left = 96, height = (rows.length + 1) * row + 28;
  const draw = svg("svg", { viewBox: `0 0 ${SIDE} ${height}`, role: "img", "aria-label": title });
  let state = 7, y = 0;
  const noise = () => { state = (state * 48271) % 2147483647; return state / 2147483647; };
  for (const [name, kind] of rows) {
    if (kind === "clear") {
      draw.append(svg("line", { x1: 0, x2: left + cells * (width + 1), y1: y + 1, y2: y + 1, class: "rule" }));
      y += 6;
    }
    draw.append(svg("text", { x: 0, y: y + 17, class: "label" }, shortened(name, 14), svg("title", {}, name)));
    for (let i = 0; i < cells; i++) {
      draw.append(svg("rect", {
        x: left + i * (width + 1), y: y + 2, width, height: row - 12, rx: 2, class: kind,
        opacity: kind === "noise" ? 0.15 + 0.8 * noise() : i % 4 === 1 ? 1 : 0.22,
      }));
    }
    y += row;
  }
  [caption, "The shades are made up"].forEach((words, i) =>
    draw.append(svg("text", { x: 0, y: y + 22 + 16 * i, class: "label small" }, words)));
  return draw;
}

/** Horocycles of a few points of the rim: circles that touch it there, at even distances. */
function horocycles(scene, directions) {
  const canvas = disc(scene, [], { points: true }), context = canvas.getContext("2d");
  const theme = inks(document.body), middle = SIDE / 2, scale = SIDE / 2 - 2;
  for (let d = 0; d < directions; d++) {
    const angle = 2 * Math.PI * d / directions + 0.3, way = [Math.cos(angle), -Math.sin(angle)];
    const place = (reach) => way.map((value) => middle + scale * reach * value);
    context.strokeStyle = theme.ink;
    context.lineWidth = 0.9;
    for (const height of directions > 4 ? [0.8] : [-1.2, -0.4, 0.4, 1.2, 2]) {
      const radius = 1 / (1 + Math.exp(height));
      context.globalAlpha = 0.4;
      context.beginPath();
      context.arc(...place(1 - radius), radius * scale, 0, 2 * Math.PI);
      context.stroke();
    }
    context.globalAlpha = 1;
    context.fillStyle = theme.ink;
    context.beginPath();
    context.arc(...place(0.985), 4, 0, 2 * Math.PI);
    context.fill();
  }
  return canvas;
}

const MOST_ROWS = 12;

/** Names and what is known of them. */
function rowsOf({ caption, rows }) {
  const more = rows.length > MOST_ROWS ? el("p", {}, `and ${rows.length - MOST_ROWS} more`) : null;
  return el("div", { class: "split" }, caption ? el("p", {}, caption) : null, pairTable(rows.slice(0, MOST_ROWS)), more);
}
