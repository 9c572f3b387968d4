// Accuracy, confusion, calibration, trade-off, time: as much of it as the study knows.
import { el, percent, svg, thousands } from "./dom.js";

export function charts(content) {
  const shown = [accuracy(content), tradeoff(content), calibration(content), confusion(content), time(content)];
  return shown.filter(Boolean);
}

const card = (title, note, ...body) => el("figure", { class: "card" },
  el("figcaption", {}, el("h3", {}, title), note ? el("p", {}, note) : null), ...body);

function accuracy({ scores, page, correct, tested, evaluators }) {
  if (!scores) {
    if (!tested) return null;
    const whose = page === "site" ? "that you held out" : `that ${evaluators} sites had held out, which the coordinator knows as a sum`;
    return card("Accuracy", `${thousands(correct)} of ${thousands(tested)} points ${whose} are classified correctly: ${percent(correct / tested, 2)}.`);
  }
  const lowest = Math.min(...scores.map((score) => score.mean - score.ci95));
  const left = Math.max(0, Math.floor(lowest / 10) * 10 - 5), at = (value) => 200 * (value - left) / (100 - left);
  const ticks = [25, 50, 75, 100].filter((tick) => tick > left);
  const several = scores.some((score) => score.trials > 1);
  return card("Accuracy on test points", several ? "Percent, mean and 95 % interval over the trials." : "Percent, one trial.",
    el("table", { class: "scores" }, el("tbody", {}, scores.map(({ name, mean, ci95, trials }, i) => el("tr", { class: i ? null : "ours" },
      el("th", { scope: "row" }, name),
      el("td", { class: "number" }, trials > 1 ? `${mean.toFixed(1)} ± ${ci95.toFixed(1)}` : mean.toFixed(1)),
      el("td", { class: "bar" }, svg("svg", { viewBox: "0 0 204 14", "aria-hidden": "true" },
        ticks.map((tick) => svg("line", { x1: at(tick) + 2, x2: at(tick) + 2, y1: 0, y2: 14, class: "tick" })),
        svg("line", { x1: 2, x2: at(mean) + 2, y1: 7, y2: 7, class: "stem" }),
        svg("line", { x1: at(mean - ci95) + 2, x2: at(Math.min(100, mean + ci95)) + 2, y1: 7, y2: 7, class: "interval" }),
        svg("circle", { cx: at(mean) + 2, cy: 7, r: 3.5, class: "mark" }))))))));
}

function confusion({ testing }) {
  if (!testing) return null;
  const { names, confusion: counts } = testing;
  const cell = (n, of, hit) => {
    const share = of ? n / of : 0;
    const node = el("td", { class: hit ? "number hit" : "number", title: `${thousands(n)} of ${thousands(of)}` }, n ? thousands(n) : "·");
    node.style.setProperty("--share", share.toFixed(3));
    return node;
  };
  return card("Confusion matrix", "Test points: rows are the true class, columns the predicted one.",
    el("div", { class: "scroll", tabindex: 0 }, el("table", { class: "confusion" },
      el("thead", {}, el("tr", {}, el("td", {}), names.map((name) => el("th", { scope: "col" }, el("span", {}, name))))),
      el("tbody", {}, names.map((name, i) => {
        const of = counts[i].reduce((a, b) => a + b, 0);
        return el("tr", {}, el("th", { scope: "row" }, name), counts[i].map((n, j) => cell(n, of, i === j)));
      })))));
}

// Charts with two axes share a frame: x and y map values to places.

const W = 380, H = 260, LEFT = 46, BOTTOM = 40, TOP = 12, RIGHT = 16;

function frame(label, [x0, x1], [y0, y1], xs, ys, xName, yName, text, height = H, bottom = BOTTOM) {
  const x = (value) => LEFT + (W - LEFT - RIGHT) * (value - x0) / (x1 - x0);
  const y = (value) => height - bottom - (height - bottom - TOP) * (value - y0) / (y1 - y0);
  const node = svg("svg", { viewBox: `0 0 ${W} ${height}`, class: "chart", role: "img", "aria-label": label },
    ys.map((value) => [
      svg("line", { x1: LEFT, x2: W - RIGHT, y1: y(value), y2: y(value), class: "grid" }),
      svg("text", { x: LEFT - 7, y: y(value) + 4, "text-anchor": "end" }, text(value)),
    ]),
    xs.map((value) => svg("text", { x: x(value), y: height - bottom + 17, "text-anchor": "middle" }, text(value))),
    svg("text", { x: (LEFT + W - RIGHT) / 2, y: height - 5, "text-anchor": "middle", class: "axis" }, xName),
    svg("text", { transform: `translate(11 ${(height - bottom + TOP) / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis" }, yName));
  return { node, x, y };
}

const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

function calibration({ testing }) {
  if (!testing?.reliability.length) return null;
  const { reliability } = testing, total = reliability.reduce((sum, bin) => sum + bin.points, 0);
  const fifths = [0, 0.2, 0.4, 0.6, 0.8, 1];
  const { node, x, y } = frame("Calibration curve", [0, 1], [0, 1], fifths, fifths, "how sure the classifier is", "how often it is right", (v) => `${Math.round(100 * v)} %`);
  node.append(svg("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), class: "ideal" }),
    svg("path", { d: path(reliability.map((bin) => [x(bin.confidence), y(bin.accuracy)])), class: "curve" }),
    ...reliability.map((bin) => svg("circle", { cx: x(bin.confidence), cy: y(bin.accuracy), r: 3 + 7 * Math.sqrt(bin.points / total), class: "mark" },
      svg("title", {}, `${thousands(bin.points)} points: ${percent(bin.confidence)} sure, ${percent(bin.accuracy)} right`))));
  const error = reliability.reduce((sum, bin) => sum + bin.points * Math.abs(bin.accuracy - bin.confidence), 0) / total;
  return card("Calibration", `On the dotted line probabilities are what they say. Mean gap: ${percent(error)}.`, node);
}

/** Two panels over the same widths of bins: what wide ones cost, and what they save. */
function tradeoff({ tradeoff: rows, space }) {
  if (!rows?.length) return null;
  const panel = (name, value, [low, high], last) => {
    const widths = rows.map((row) => Math.log10(row.epsilon)), room = 0.12;
    const ends = [Math.min(...widths) - room, Math.max(...widths) + room];
    const thirds = [low, (low + high) / 2, high];
    const { node, x, y } = frame(name, ends, [low, high], [], thirds, last ? "width of a bin, ε" : "", name, (v) => `${Number(v.toFixed(1))} %`, last ? 165 : 145, last ? BOTTOM : 14);
    node.append(svg("path", { d: path(rows.map((row, i) => [x(widths[i]), y(value(row))])), class: "curve" }));
    rows.forEach((row, i) => {
      const here = row.epsilon === space.epsilon;
      node.append(svg("circle", { cx: x(widths[i]), cy: y(value(row)), r: here ? 5.5 : 3.5, class: here ? "mark here" : "mark" },
        svg("title", {}, `ε = ${row.epsilon}: accuracy ${row.accuracy.toFixed(1)} %, ${thousands(row.points_sent)} of ${thousands(row.points_total)} points sent`)));
      if (last) node.append(svg("text", { x: x(widths[i]), y: 165 - BOTTOM + 17, "text-anchor": "middle", class: here ? "strong" : null }, String(Number(row.epsilon.toPrecision(2)))));
    });
    return node;
  };
  const range = (values, step) => [
    Math.max(0, Math.floor((Math.min(...values) - step / 4) / step) * step),
    Math.min(100, Math.ceil((Math.max(...values) + step / 4) / step) * step)];
  const accuracyOf = (row) => row.accuracy, sent = (row) => 100 * row.points_sent / row.points_total;
  return card("Accuracy and leakage", "The first trial with narrower and wider bins: wide ones send fewer corners, and each tells less. The ring is this study.",
    panel("accuracy", accuracyOf, range(rows.map(accuracyOf), 10), false),
    panel("points sent", sent, range(rows.map(sent), 5), true));
}

function time({ seconds }) {
  const stages = Object.entries(seconds), most = Math.max(...stages.map(([, s]) => s));
  if (!stages.length) return null;
  return card("Time", "Seconds for each stage.", el("table", { class: "time" }, el("tbody", {}, stages.map(([name, s]) => {
    const bar = el("span", { class: "length" });
    bar.style.width = `${(100 * s / most).toFixed(1)}%`;
    return el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "number" }, s < 0.01 ? s.toFixed(3) : s.toFixed(2)), el("td", { class: "bar" }, bar));
  }))));
}
