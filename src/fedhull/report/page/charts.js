// Scores, trade-off, calibration and confusion: the cards of sections that are drawn.
import { card } from "./cards.js";
import { el, percent, shortened, svg, swatchOf, thousands } from "./dom.js";

const DRAWN = { scores: accuracy, tradeoff, confusion: testing };

/** The cards of a section. */
export const charts = (section, colours) => [DRAWN[section.section]?.(section, colours)].flat().filter(Boolean);

function accuracy({ scores }) {
  const lowest = Math.min(...scores.map((score) => score.mean - score.ci95));
  const left = Math.max(0, Math.floor(lowest / 10) * 10 - 5);
  const at = (value) => 2 + 200 * (Math.min(100, value) - left) / (100 - left);
  const step = niceStep((100 - left) / 4), ticks = [];
  for (let tick = 100; tick >= left; tick -= step) ticks.unshift(tick);
  const note = scores.some((score) => score.trials > 1)
    ? "Percent, mean and 95 % interval over the trials." : "Percent, one trial.";
  return card("Accuracy on test points", note, el("table", { class: "scores" },
    el("tbody", {}, scores.map((score, i) => scoreRow(score, i === 0, ticks, at))),
    el("tfoot", {}, el("tr", {}, el("td"), el("td"), el("td", { class: "bar" }, scoreAxis(ticks, at))))));
}

function testing(tests, colours) {
  return [calibration(tests), confusion(tests, colours)];
}

/** The numbers below the bars. */
function scoreAxis(ticks, at) {
  const anchor = (tick) => (at(tick) > 192 ? "end" : at(tick) < 12 ? "start" : "middle");
  return svg("svg", { viewBox: "0 0 204 14", role: "img", "aria-label": `Percent, from ${ticks[0]} to ${ticks.at(-1)}` },
    ticks.map((tick) => svg("text", { x: at(tick), y: 12, "text-anchor": anchor(tick) }, String(tick))));
}

function scoreRow({ name, mean, ci95, trials }, ours, ticks, at) {
  const line = (x1, x2, kind) => svg("line", { x1, x2, y1: 7, y2: 7, class: kind });
  return el("tr", { class: ours ? "ours" : null },
    el("th", { scope: "row" }, name),
    el("td", { class: "number" }, trials > 1 ? `${mean.toFixed(1)} ± ${ci95.toFixed(1)}` : mean.toFixed(1)),
    el("td", { class: "bar" }, svg("svg", { viewBox: "0 0 204 14", "aria-hidden": "true" },
      ticks.map((tick) => svg("line", { x1: at(tick), x2: at(tick), y1: 0, y2: 14, class: "tick" })),
      line(2, at(mean), "stem"), line(at(mean - ci95), at(mean + ci95), "interval"),
      svg("circle", { cx: at(mean), cy: 7, r: 3.5, class: "mark" }))));
}

// from here on, names above columns would be too narrow to read: columns have the rows' numbers
const MANY_CLASSES = 10;

function confusion({ names, confusion: counts }, colours) {
  const n = names.length, many = n > MANY_CLASSES;
  const cell = (count, of, hit) => {
    const title = `${thousands(count)} of ${thousands(of)}`;
    const node = el("td", { class: hit ? "number hit" : "number", title }, count ? brief(count, many) : "·");
    node.style.setProperty("--share", of ? (count / of).toFixed(3) : 0);
    return node;
  };
  const rowHead = (name, i) => el("th", { scope: "row", title: name }, el("span", {},
    many ? el("b", {}, String(i + 1)) : null, colours[name] ? swatchOf(colours[name]) : null,
    el("span", { class: "name" }, shortened(name, 20))));
  const row = (name, i) => {
    const of = counts[i].reduce((a, b) => a + b, 0);
    return el("tr", {}, rowHead(name, i), counts[i].map((count, j) => cell(count, of, i === j)));
  };
  const heads = names.map((name, i) => el("th", { scope: "col", title: name, "aria-label": name },
    many ? String(i + 1) : el("span", {}, shortened(name, 18))));
  const table = el("table", { class: many ? "confusion many" : "confusion" },
    el("thead", {}, el("tr", {}, el("td", {}), heads)), el("tbody", {}, names.map(row)));
  table.style.setProperty("--classes", n);
  const matrix = card("Confusion matrix", "Test points: rows are the true class, columns the predicted one" +
    (many ? ", by the number that it has on the left." : "."),
    el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Confusion matrix" }, table));
  // many classes need the width of both columns of cards
  matrix.classList.toggle("wide", n > 8);
  return matrix;
}

/** A count; in a narrow column, thousands are a k. */
function brief(count, narrow) {
  if (!narrow || count < 1000) return thousands(count);
  return count < 9950 ? `${(count / 1000).toFixed(1)}k` : `${Math.round(count / 1000)}k`;
}

/** A chart with two axes, {name, from, to, ticks, text} each; x and y map values to places. */
function frame(label, across, up, height, bottom) {
  const width = 380, left = 62, right = 20, top = 12;
  const x = (value) => left + (width - left - right) * (value - across.from) / (across.to - across.from);
  const y = (value) => height - bottom - (height - bottom - top) * (value - up.from) / (up.to - up.from);
  const text = (place, words, kind = null) => svg("text", { "text-anchor": "middle", class: kind, ...place }, words);
  const node = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": label },
    up.ticks.map((value) => [
      svg("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "grid" }),
      text({ x: left - 7, y: y(value) + 4, "text-anchor": "end" }, up.text(value)),
    ]),
    across.ticks.map((value) => text({ x: x(value), y: height - bottom + 17 }, across.text(value))),
    text({ x: (left + width - right) / 2, y: height - 5 }, across.name, "axis"),
    text({ transform: `translate(11 ${(height - bottom + top) / 2}) rotate(-90)` }, up.name, "axis"));
  return { node, x, y };
}

const curve = (points) => svg("path", {
  class: "curve", d: points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join(""),
});

const mark = ([cx, cy], r, kind, title) =>
  svg("circle", { cx, cy, r, class: kind }, svg("title", {}, title));

function calibration({ reliability }) {
  if (!reliability.length) return null;
  const total = reliability.reduce((sum, level) => sum + level.points, 0);
  const axis = { from: 0, to: 1, ticks: [0, 0.2, 0.4, 0.6, 0.8, 1], text: (value) => percent(value, 0) };
  const { node, x, y } = frame("Calibration curve", { ...axis, name: "how sure the classifier is" },
    { ...axis, name: "how often it is right" }, 260, 40);
  const place = (level) => [x(level.confidence), y(level.accuracy)];
  node.append(svg("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), class: "ideal" }),
    curve(reliability.map(place)),
    ...reliability.map((level) => mark(place(level), 3 + 7 * Math.sqrt(level.points / total), "mark",
      `${thousands(level.points)} points: ${percent(level.confidence)} sure, ${percent(level.accuracy)} right`)));
  const off = reliability.reduce((sum, level) => sum + level.points * Math.abs(level.accuracy - level.confidence), 0);
  return card("Calibration",
    `On the dotted line, probabilities mean what they say. Mean gap: ${percent(off / total)}.`, node);
}

/** Two panels over the same widths of bins: what wide ones cost, and what they save. */
function tradeoff({ rows, epsilon, words }) {
  const widths = rows.map((row) => Math.log10(row.epsilon)), room = 0.12;
  const across = {
    from: Math.min(...widths) - room, to: Math.max(...widths) + room,
    text: (value) => String(Number((10 ** value).toPrecision(2))),
  };
  const panel = (name, step, value, last) => {
    const values = rows.map(value);
    const from = Math.max(0, Math.floor((Math.min(...values) - step / 4) / step) * step);
    const to = Math.min(100, Math.ceil((Math.max(...values) + step / 4) / step) * step);
    const up = { name, from, to, ticks: [from, (from + to) / 2, to], text: (v) => `${Number(v.toFixed(1))} %` };
    const below = last ? { ticks: widths, name: "width of a bin, ε" } : { ticks: [], name: "" };
    const { node, x, y } = frame(name, { ...across, ...below }, up, last ? 165 : 140, last ? 40 : 12);
    const places = rows.map((row, i) => [x(widths[i]), y(value(row))]);
    node.append(curve(places), ...rows.map((row, i) => {
      const here = row.epsilon === epsilon;
      return mark(places[i], here ? 5.5 : 3.5, here ? "mark here" : "mark",
        `ε = ${row.epsilon}: accuracy ${row.accuracy.toFixed(1)} %, ` +
        `${thousands(row.points_sent)} of ${thousands(row.points_total)} points sent`);
    }));
    return node;
  };
  return card("Accuracy and leakage", "The first trial with narrower and wider bins: wide ones send fewer " +
    "corners, and each reveals less. The ring is this study.",
    words ? el("p", { class: "prose" }, words) : null,
    panel("accuracy", 10, (row) => row.accuracy, false),
    panel("points sent", 5, (row) => 100 * row.points_sent / row.points_total, true));
}

/** 1, 2 or 5 times a power of ten, at least as large as this. */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * 0.999);
}
