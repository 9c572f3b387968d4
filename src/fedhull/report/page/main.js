// Puts the page together. `window.fedhull` is what tests, and the curious, look at.
import { charts } from "./charts.js";
import { makeScene } from "./scene.js";
import { makeStepper } from "./steps.js";
import { footer, header, summary } from "./summary.js";
import { makeViewer } from "./viewer.js";
import { el } from "./dom.js";
import { probabilities } from "./classifier.js";

const content = JSON.parse(document.getElementById("content").textContent);
const into = (id, ...nodes) => document.getElementById(id).append(...nodes.flat());

into("top", header(content));
into("summary", summary(content));
into("bottom", footer(content));

// the words are on the screen before the first picture is computed
requestAnimationFrame(() => setTimeout(() => {
  const scene = makeScene(content), viewer = makeViewer(scene), stepper = makeStepper(scene, content);
  into("disc", viewer.element);
  into("steps", stepper.element);
  into("results", el("div", { class: "cards" }, charts(content)));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", stepper.redraw);
  matchMedia("print").addEventListener("change", stepper.redraw);
  window.fedhull = { scene, viewer, stepper, probabilities: (point) =>
    probabilities(scene.classifier, point.map((value) => value * scene.grid.root)) };
  document.body.dataset.ready = "true";
}));
