// The protocol step by step, with this study's hulls and numbers.
import { el, shortened, svg, thousands } from "./dom.js";
import { add, minus } from "./disc.js";
import { titleAt } from "./labels.js";
import { inks, paint, polygon } from "./paint.js";

export function makeStepper(scene, content, mark) {
  const { steps } = content, picture = el("div", { class: "picture" });
  const text = el("div", { class: "telling", "aria-live": "polite" });
  const tabs = steps.map((step, i) => el("button", { type: "button", onclick: () => go(i) },
    el("span", {}, String(i + 1)), el("em", {}, step.title)));
  const back = el("button", { type: "button", onclick: () => go(stepper.at - 1) }, "← Back");
  const next = el("button", { type: "button", class: "main", onclick: () => go(stepper.at + 1) }, "Next →");
  const stepper = { at: 0, go: (i) => go(i) };
  const drawn = ({ picture: name }) => PICTURES[name](scene, content);
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
  codes: labelCodes,
  sums: maskedSums,
  decoded: (scene) => disc(scene, scene.hulls, { hulls: true, bins: true, plain: true }),
  grouped: (scene) => disc(scene, scene.hulls, { hulls: true, bins: true, names: true }),
  boundary: (scene) => disc(scene, scene.hulls, { hulls: true, faint: true, regions: true, boundaries: true }),
  points: (scene) => disc(scene, [], { points: true, names: true }),
  cross: (scene) => horocycles(scene, 4),
  matched: matchedClasses,
  sealed: sealedEntries,
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
function labelCodes(scene, { shared_bin: shared, sums }) {
  if (!shared) return ownLabels(scene, sums);
  return el("div", { class: "split" },
    ...(sums.label_code === "pairs" ? meeting(shared) : sumOfCodes(shared)),
    pairTable(shared.labels.map((label, i) => [`label ${label + 1}`, grouped(shared.codes[i])])));
}

/** A site knows the labels of its own classes only. */
function ownLabels({ hulls, classes }, { labels }) {
  return el("div", { class: "split" },
    el("p", {}, `Of the ${labels} labels, your classes were sent under`),
    pairTable(hulls.map((hull) => [classes[hull.column].name, `label ${hull.label + 1}`])));
}

const pairTable = (rows) => el("table", {}, el("tbody", {}, rows.map(([name, value]) =>
  el("tr", {}, el("th", { scope: "row", title: name }, shortened(name, 24)), el("td", { class: "number" }, value)))));

const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ",");

const MOST_ROWS = 5;

/** Rows of noise that add up to something: an illustration, the masks themselves are nobody's to see. */
function maskedSums(scene, { sites, sums }) {
  const names = sites.filter((site) => site.taking_part).slice(0, MOST_ROWS).map((site) => site.name);
  const numbers = sums.n_sums === null ? "Numbers" : `${thousands(sums.n_sums)} numbers`;
  return noiseAbove("Masked sums of the sites add up to the sum", names, "the sum",
    `${numbers} modulo ${grouped(sums.modulus)}`);
}

/** Sealed entries, of which a site can open its own: an illustration as well. */
function sealedEntries(scene, { sites, name }) {
  const n = Math.min(MOST_ROWS, sites.filter((site) => site.taking_part).length), others = name === undefined ? n : n - 1;
  return noiseAbove("Each entry opens for one site only", Array.from({ length: others }, () => "sealed"),
    name === undefined ? null : "yours", "Each opens for its owner only");
}

function noiseAbove(label, names, last, caption) {
  const cells = 13, width = 18, row = 34, left = 96, height = (names.length + 2) * row + 22;
  const draw = svg("svg", { viewBox: `0 0 ${SIDE} ${height}`, role: "img", "aria-label": label });
  let state = 7;
  const noise = () => { state = (state * 48271) % 2147483647; return state / 2147483647; };
  const line = (name, y, kind) => {
    draw.append(svg("text", { x: 0, y: y + 17, class: "label" }, shortened(name, 14), svg("title", {}, name)));
    for (let i = 0; i < cells; i++) {
      draw.append(svg("rect", {
        x: left + i * (width + 1), y: y + 2, width, height: row - 12, rx: 2, class: kind,
        opacity: kind === "noise" ? 0.15 + 0.8 * noise() : i % 4 === 1 ? 1 : 0.22,
      }));
    }
  };
  names.forEach((name, i) => line(name, i * row, "noise"));
  const y = names.length * row + 6, below = last === null ? y : y + row;
  if (last !== null) {
    draw.append(svg("line", { x1: 0, x2: left + cells * (width + 1), y1: y - 5, y2: y - 5, class: "rule" }));
    line(last, y, "clear");
  }
  [caption, "The shades are made up"].forEach((words, i) =>
    draw.append(svg("text", { x: 0, y: below + row - 12 + 16 * i, class: "label small" }, words)));
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

const MOST_CLASSES = 12;

/** The numbered classes, as far as whoever reads the page knows them. */
function matchedClasses({ classes }, { found, matches, match_map: map }) {
  const sites = (n) => (n === 1 ? "1 site" : `${thousands(n)} sites`);
  const rows = matches?.map(({ name, number }) => [name, `class ${number + 1}`])
    ?? found?.map((each) => [each.name, `${sites(each.sites)}, ${thousands(each.cells)} cells`])
    ?? map.map(({ number, name, slots }) => [`class ${number + 1}`, `${name}, at ${sites(slots.length)}`]);
  const shown = rows.length ? rows : classes.map(({ name }) => [name, ""]);
  const more = shown.length > MOST_CLASSES ? el("p", {}, `and ${shown.length - MOST_CLASSES} more`) : null;
  return el("div", { class: "split" }, pairTable(shown.slice(0, MOST_CLASSES)), more);
}
