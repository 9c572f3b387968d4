// What a data-protection officer reads first: who took part, what left, who saw what.
import { el, thousands } from "./dom.js";

export function header(content) {
  return [
    el("p", { class: "kicker" }, content.kicker),
    el("h1", {}, content.title),
    el("p", { class: "lead" }, content.lead),
  ];
}

export function summary(content) {
  return [
    el("ul", { class: "figures" }, content.figures.map(({ value, label, note }) => el("li", {},
      el("strong", {}, value), el("span", {}, label), note ? el("small", {}, note) : null))),
    el("div", { class: "columns" },
      list("What the server could see", "seen", content.seen),
      list("What it could not see on its own", "hidden", content.hidden),
      list("What is not protected", "open", content.unprotected)),
    el("div", { class: "columns" }, sites(content), parameters(content), checks(content)),
  ];
}

function list(title, kind, items) {
  return el("div", { class: `list ${kind}` }, el("h3", {}, title),
    el("ul", {}, items.map((item) => el("li", {}, item))));
}

const MOST_SITES = 8;

function sites({ sites: all }) {
  const counted = all.some((site) => site.points_held !== null);
  const row = (site) => el("tr", { class: site.taking_part ? null : "gone" },
    el("th", { scope: "row" }, site.name),
    counted ? el("td", { class: "number" }, sentOf(site)) : null,
    el("td", {}, site.fate));
  const table = (some) => el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "site"),
      counted ? el("th", { scope: "col", class: "number" }, "points sent, of those held") : null,
      el("th", { scope: "col" }, ""))),
    el("tbody", {}, some.map(row)));
  const rest = all.slice(MOST_SITES);
  return el("div", { class: "list sites" }, el("h3", {}, "Who took part"), table(all.slice(0, MOST_SITES)),
    rest.length ? el("details", {}, el("summary", {}, `${rest.length} more`), table(rest)) : null);
}

function sentOf({ points_sent: sent, points_held: held }) {
  if (held === null) return "";
  return sent === null ? `none of ${thousands(held)}` : `${thousands(sent)} of ${thousands(held)}`;
}

function parameters(content) {
  return el("div", { class: "list" }, el("h3", {}, "Settings"),
    el("dl", {}, Object.entries(content.parameters).flatMap(([name, value]) =>
      [el("dt", {}, name), el("dd", {}, value)])));
}

function checks(content) {
  return el("div", { class: "list checks" }, el("h3", {}, "Checks"),
    el("ul", {}, content.checks.map(({ words, passed }) => el("li", { class: passed ? "passed" : "failed" },
      el("span", { class: "mark", "aria-label": passed ? "passed" : "failed" }, passed ? "✓" : "✗"), words))));
}

export function footer(content) {
  return [el("p", {}, `${content.made_by}, ${content.made_at}. Study ${content.study_hash}. `,
    "What is protected and what is not, in full: fedhull's threat model. ",
    "This file is complete in itself: it loads nothing and sends nothing.")];
}
