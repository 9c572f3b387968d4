// Elements, put together node by node: whatever comes from data is text and stays text.

export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

export const thousands = (n) => n.toLocaleString("en");

export const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;

/** A text of at most `most` letters: what is cut out is in the middle, names often differ at the end. */
export function shortened(text, most) {
  const letters = [...text];
  if (letters.length <= most) return text;
  const tail = Math.floor((most - 1) * 0.4), head = most - 1 - tail;
  return `${letters.slice(0, head).join("").trimEnd()}…${letters.slice(letters.length - tail).join("").trimStart()}`;
}

/** A spot of a class's colour. */
export function swatchOf(colour) {
  const swatch = el("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.backgroundColor = colour;
  return swatch;
}
