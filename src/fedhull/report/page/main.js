// Puts the page together from its sections: what a study has no section of is not on its page.
// `window.fedhull` is what tests, and the curious, look at.
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
const find = (kind) => content.sections.find(({ section }) => section === kind);
const shownDisc = find("disc"), shownAnchors = find("anchors"), shownSteps = find("steps");
const glossary = makeGlossary(content.glossary, (shownSteps?.steps ?? []).map((step) => step.words));
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
const cardsAt = (place) => content.sections.filter((each) => each.place === place).flatMap((each) =>
  (each.section === "text" ? sectionCard(each) : charts(each, shownDisc?.colours ?? {})));

/** The disc, and the method told with the study's own numbers. */
function discSections() {
  const scene = makeScene(shownDisc, find("own-points")), viewer = makeViewer(scene);
  glossary.mark(section("disc", "The disc", viewer.element));
  const stepper = shownSteps && makeStepper(scene, shownSteps.steps, find("shared-bin"), glossary.mark);
  if (stepper) section("steps", "How it works, step by step", stepper.element);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => stepper?.redraw());
  return { scene, viewer, stepper, probabilities: (point) =>
    probabilities(scene.classifier, point.map((value) => value * scene.grid.root)) };
}

/** The disc of an encoder. It has nothing to switch, so what came of the study stands beside it. */
function anchorSection() {
  const scene = makeAnchorScene(shownAnchors), viewer = makeViewer(scene);
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
into("summary", summary(content, find("who-learns-what"), find("held")));
into("bottom", footer(content));
glossary.mark(document.getElementById("top"));
glossary.mark(document.getElementById("summary"));

// the words are on the screen before the first picture is computed
requestAnimationFrame(() => setTimeout(() => {
  window.fedhull = shownDisc ? discSections() : shownAnchors ? anchorSection() : {};
  cardSection("results", shownAnchors ? "What came of it" : "How good it is", cardsAt("results"));
  document.querySelector(".beside .panel")?.append(document.getElementById("results"));
  cardSection("more", "More about this study", cardsAt("more"));
  section("words", "Words on this page", glossary.list());
  addEventListener("beforeprint", unfold);
  // by now the colours are those of paper
  matchMedia("print").addEventListener("change", ({ matches }) => { if (matches) unfold(); });
  document.body.dataset.ready = "true";
}));
