// What a data-protection officer reads first: who took part, what left, who saw what.
import { el } from "./dom.js";

export function header(content) {
  return [
    el("p", { class: "kicker" }, content.kicker),
    el("h1", {}, content.title),
    el("p", { class: "lead" }, content.lead),
  ];
}

export function summary(content, learned, held) {
  return [
    el("ul", { class: "figures" }, content.figures.map(({ value, label, note }) => el("li", {},
      el("strong", {}, value), el("span", {}, label), note ? el("small", {}, note) : null))),
    el("div", { class: "columns" },
      stack(learned && list("What the coordinator could see", "seen", learned.seen), sites(content, held)),
      stack(learned && list("What it could not see on its own", "hidden", learned.hidden),
        parameters(content), checks(content)),
      stack(learned && list("What is not protected", "open", learned.unprotected))),
  ];
}

// a short list leaves no hole above what stands below it
const stack = (...lists) => el("div", { class: "stack" }, lists);

function list(title, kind, items) {
  return el("div", { class: `list ${kind}` }, el("h3", {}, title),
    el("ul", {}, items.map((item) => el("li", {}, item))));
}

const MOST_SITES = 8;

function sites({ sites: all }, held) {
  const row = (site) => el("tr", { class: site.taking_part ? null : "gone" },
    el("th", { scope: "row", title: site.name }, site.name),
    held ? el("td", { class: "number" }, held.sites[site.name]) : null,
    el("td", {}, site.fate));
  const rows = all.map(row), rest = rows.slice(MOST_SITES);
  const table = (some) => el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "site"),
      held ? el("th", { scope: "col", class: "number" }, held.title) : null,
      el("th", { scope: "col" }, ""))),
    el("tbody", {}, some));
  return el("div", { class: "list sites" }, el("h3", {}, "Who took part"), table(rows.slice(0, MOST_SITES)),
    rest.length ? el("details", {}, el("summary", {}, `${rest.length} more`), table(rest)) : null);
}

function parameters(content) {
  return el("div", { class: "list" }, el("h3", {}, "Settings"),
    el("dl", {}, Object.entries(content.parameters).flatMap(([name, value]) =>
      [el("dt", {}, name), el("dd", {}, value)])));
}

// what is neither passed nor failed is something to know
const MARKS = [[true, "passed", "✓"], [false, "failed", "✗"], [null, "noted", "!"]];

function checks(content) {
  return el("div", { class: "list checks" }, el("h3", {}, "Checks"),
    el("ul", {}, content.checks.map(({ words, passed }) => {
      const [, kind, sign] = MARKS.find(([value]) => value === passed);
      return el("li", { class: kind }, el("span", { class: "mark", role: "img", "aria-label": kind }, sign), words);
    })));
}

export function footer(content) {
  return [el("p", {}, `${content.made_by}, ${content.made_at}. Study ${content.study_hash}. `,
    "What is protected and what is not, in full: fedhull's threat model. ",
    "This file is complete in itself: it loads nothing and sends nothing.")];
}
