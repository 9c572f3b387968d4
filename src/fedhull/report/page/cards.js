// Cards: a title, a note and whatever belongs to it; and sections, which are cards of plain text.
import { el } from "./dom.js";

export const card = (title, note, ...body) => el("figure", { class: "card" },
  el("figcaption", {}, el("h3", {}, title), note ? el("p", {}, note) : null), ...body);

/** A section as fedhull or another package has made it: paragraphs, a table, bars. */
export function sectionCard({ title, paragraphs, table, bars }) {
  const made = card(title, null, paragraphs.map((words) => el("p", { class: "prose" }, words)),
    table ? el("div", { class: "scroll", tabindex: 0 }, textTable(table)) : null, bars.length ? barTable(bars) : null);
  // many columns need the width of both columns of cards
  made.classList.toggle("wide", (table?.columns.length ?? 0) > 5);
  // on paper nobody can scroll
  made.classList.toggle("broad", (table?.columns.length ?? 0) > 3);
  return made;
}

// What needs looking at is marked in front.
const MARKED = /^[!✗]+ /;

const NUMBER = /^[−-]?[\d.,–]+( ?%)?$/;

// in a narrow table, words as short as these are not broken
const SHORT = 10;

export function textTable({ columns, rows }) {
  const kindOf = (texts) => (texts.every((text) => NUMBER.test(text)) ? "number"
    : texts.every((text) => text.length <= SHORT) ? "short" : null);
  const kinds = columns.map((_, j) => kindOf(rows.map((row) => row[j])));
  return el("table", { class: "plain" },
    el("thead", {}, el("tr", {}, columns.map((name, j) => el("th", { scope: "col", class: kinds[j] }, name)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((text, j) =>
      el("td", { class: MARKED.test(text) ? "marked" : kinds[j] }, text))))));
}

function barTable(bars) {
  const most = Math.max(...bars.map(({ value }) => value));
  const row = ({ name, value, text }) => {
    const bar = el("span", { class: "length" });
    bar.style.width = `${most > 0 ? (100 * value / most).toFixed(1) : 0}%`;
    return el("tr", {}, el("th", { scope: "row" }, name),
      el("td", { class: "number" }, text), el("td", { class: "bar" }, bar));
  };
  return el("table", { class: "bars" }, el("tbody", {}, bars.map(row)));
}
