// Puts the page together: what a study's content does not hold gets no section. `window.fedhull` is
// what tests, and the curious, look at.
import { sectionCard } from "./cards.js";
import { charts } from "./charts.js";
import { makeGlossary } from "./glossary.js";
import { makeAnchorScene, makeScene } from "./scene.js";
import { makeStepper } from "./steps.js";
import { footer, header, summary } from "./summary.js";
import { makeViewer } from "./viewer.js";
import { el } from "./dom.js";
import { probabilities } from "./classifier.js";

const content = JSON.parse(document.getElementById("content").textContent);
const glossary = makeGlossary(content.glossary, (content.steps ?? []).map((step) => step.words));
const into = (id, ...nodes) => document.getElementById(id).append(...nodes.flat());
const section = (id, title, ...nodes) => {
  const made = el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), nodes);
  into("main", made);
  return made;
};
const cardSection = (id, title, cards) => {
  if (!cards.length) return;
  glossary.mark(section(id, title, el("div", { class: cards.length > 1 ? "cards" : "cards single" }, cards)));
};

/** The disc, and the method told with the study's own numbers. */
function discSections() {
  const scene = makeScene(content), viewer = makeViewer(scene), stepper = makeStepper(scene, content, glossary.mark);
  glossary.mark(section("disc", "The disc", viewer.element));
  section("steps", "How it works, step by step", stepper.element);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", stepper.redraw);
  return { scene, viewer, stepper, probabilities: (point) =>
    probabilities(scene.classifier, point.map((value) => value * scene.grid.root)) };
}

/** The disc of an encoder. It has nothing to switch, so what came of the study stands beside it. */
function anchorSection() {
  const scene = makeAnchorScene(content), viewer = makeViewer(scene);
  viewer.element.classList.add("beside");
  glossary.mark(section("disc", "The anchors in the disc", viewer.element));
  return { scene, viewer };
}

/** On paper nothing is folded, and all steps are there. */
function unfold() {
  for (const folded of document.querySelectorAll("details:not([open])")) {
    folded.open = true;
    addEventListener("afterprint", () => { folded.open = false; }, { once: true });
  }
  window.fedhull.stepper?.print();
}

into("top", header(content));
into("summary", summary(content));
into("bottom", footer(content));
glossary.mark(document.getElementById("top"));
glossary.mark(document.getElementById("summary"));

// the words are on the screen before the first picture is computed
requestAnimationFrame(() => setTimeout(() => {
  window.fedhull = content.model ? discSections() : content.anchors ? anchorSection() : {};
  cardSection("results", content.results, [...charts(content), ...content.cards.map(sectionCard)]);
  document.querySelector(".beside .panel")?.append(document.getElementById("results"));
  cardSection("more", "More about this study", content.sections.map(sectionCard));
  section("words", "Words on this page", glossary.list());
  addEventListener("beforeprint", unfold);
  // by now the colours are those of paper
  matchMedia("print").addEventListener("change", ({ matches }) => { if (matches) unfold(); });
  document.body.dataset.ready = "true";
}));
