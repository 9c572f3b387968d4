// The words that a reader may not know: what they mean is told where they come first, and at the end.
import { el } from "./dom.js";

// where words are the page's own, and not names from data
const TELLING = "p, li, small, .figures span, .facts dd, .list dt, .card h3, .plain thead th";

/** {mark(element), list()}: `mark` gives the first use of each word in an element its meaning, `list` is
    of all words that were marked, or are in `texts`. */
export function makeGlossary(entries, texts) {
  const idOf = ({ term }) => `word-${term.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;
  const entryOf = new Map(entries.flatMap((entry) => entry.forms.map((form) => [form.toLowerCase(), entry])));
  // the longest first: a power sum is not a sum
  const forms = [...entryOf.keys()].sort((a, b) => b.length - a.length);
  const word = new RegExp(`(?<![\\p{L}\\p{N}-])(?:${forms.join("|")})(?![\\p{L}\\p{N}]|[-.]\\p{L})`, "giu");
  const used = new Set();
  const found = (text) => [...text.matchAll(word)].map((match) => ({ match, entry: entryOf.get(match[0].toLowerCase()) }));
  const explain = (text, entry) => el("abbr", { class: "word", title: entry.meaning, "aria-describedby": idOf(entry) }, text);

  const markText = (node, told) => {
    const pieces = [], text = node.data;
    let end = 0;
    for (const { match, entry } of found(text)) {
      used.add(entry);
      if (told.has(entry)) continue;
      told.add(entry);
      pieces.push(text.slice(end, match.index), explain(match[0], entry));
      end = match.index + match[0].length;
    }
    if (pieces.length) node.replaceWith(...pieces, text.slice(end));
  };
  const mark = (element) => {
    const told = new Set(), nodes = [], walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) nodes.push(walker.currentNode);
    for (const node of nodes) if (node.parentElement.matches(TELLING)) markText(node, told);
  };
  const list = () => {
    for (const text of texts) for (const { entry } of found(text)) used.add(entry);
    return el("dl", { class: "glossary" }, entries.filter((entry) => used.has(entry)).map((entry) =>
      el("div", {}, el("dt", {}, el("dfn", {}, entry.term)), el("dd", { id: idOf(entry) }, entry.meaning))));
  };
  return { mark, list };
}
