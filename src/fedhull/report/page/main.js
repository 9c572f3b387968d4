// Puts the page together: what a study's content does not hold gets no section. `window.fedhull` is
// what tests, and the curious, look at.
import { sectionCard } from "./cards.js";
import { charts } from "./charts.js";
import { makeScene } from "./scene.js";
import { makeStepper } from "./steps.js";
import { footer, header, summary } from "./summary.js";
import { makeViewer } from "./viewer.js";
import { el } from "./dom.js";
import { probabilities } from "./classifier.js";

const content = JSON.parse(document.getElementById("content").textContent);
const into = (id, ...nodes) => document.getElementById(id).append(...nodes.flat());
const section = (id, title, ...nodes) => into("main",
  el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), nodes));
const cardSection = (id, title, cards) => {
  if (cards.length) section(id, title, el("div", { class: cards.length > 1 ? "cards" : "cards single" }, cards));
};

/** The disc, and the method told with the study's own numbers. */
function discSections() {
  const scene = makeScene(content), viewer = makeViewer(scene), stepper = makeStepper(scene, content);
  section("disc", "The disc", viewer.element);
  section("steps", "How it works, step by step", stepper.element);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", stepper.redraw);
  matchMedia("print").addEventListener("change", stepper.redraw);
  return { scene, viewer, stepper, probabilities: (point) =>
    probabilities(scene.classifier, point.map((value) => value * scene.grid.root)) };
}

into("top", header(content));
into("summary", summary(content));
into("bottom", footer(content));

// the words are on the screen before the first picture is computed
requestAnimationFrame(() => setTimeout(() => {
  window.fedhull = content.model ? discSections() : {};
  cardSection("results", content.results, [...charts(content), ...content.cards.map(sectionCard)]);
  cardSection("more", "More about this study", content.sections.map(sectionCard));
  document.body.dataset.ready = "true";
}));
