// The disc to move through: drag, scroll, double-click, keys; layers and classes to switch.
import { el, percent, swatchOf, thousands } from "./dom.js";
import { add, along, centreShowing, distance, inside, minus } from "./disc.js";
import { probabilities } from "./classifier.js";
import { titleAt } from "./labels.js";
import { inks, paint, toPixel } from "./paint.js";

const NAMES = {
  regions: "Decision regions", boundaries: "Boundaries", references: "Reference points",
  hulls: "Hulls", bins: "Bins", names: "Class names", points: "Your own points", anchors: "Anchors",
};
const MOST_ZOOM = 400;
const GLIDE = 260;
const NEAR = 9;

const contents = ({ anchors, hulls }) =>
  (anchors.length ? `${thousands(anchors.length)} anchors` : `${hulls.length ? "hulls, bins and " : ""}decision regions`);

export function makeViewer(scene) {
  const canvas = el("canvas", {
    tabindex: 0, role: "application", "aria-describedby": "disc-help",
    "aria-label": `The Poincaré disc with ${contents(scene)}. Arrow keys move, plus and minus zoom, 0 resets.`,
  });
  const readout = el("p", { class: "readout", "aria-live": "polite" });
  // a layer that has nothing to show has no switch
  const empty = { points: !scene.points, references: !scene.references.length, anchors: !scene.anchors.length };
  empty.hulls = empty.bins = !scene.hulls.length;
  empty.regions = empty.boundaries = empty.names = !scene.classes.length;
  const layers = Object.keys(NAMES).filter((name) => !empty[name]);
  const shown = { columns: scene.classes.map(() => true) };
  for (const name of layers) shown[name] = name !== "references";
  const view = { centre: [0, 0], zoom: 1, shift: [0, 0], scale: 1, x: 0, y: 0, ratio: 1 };
  const viewer = { view, shown, canvas, labels: [], settled: false };

  // Drawing: a quick picture while something moves, a fine one when it has come to rest.

  let asked = 0, resting = 0, theme = inks(document.body);
  const refresh = (coarse = false) => {
    viewer.settled = false;
    cancelAnimationFrame(asked);
    clearTimeout(resting);
    asked = requestAnimationFrame(() => {
      draw(coarse);
      if (coarse) resting = setTimeout(refresh, 110);
      else viewer.settled = true;
    });
  };
  const draw = (coarse) => {
    const begin = performance.now();
    place();
    viewer.labels = paint(canvas.getContext("2d"), scene, view, shown, theme, coarse);
    viewer.frame = performance.now() - begin;
  };
  const place = () => {
    const side = canvas.clientWidth, half = side / 2, room = (view.zoom - 1) * half;
    view.ratio = Math.min(window.devicePixelRatio || 1, 2);
    const pixels = Math.round(side * view.ratio);
    if (canvas.width !== pixels) canvas.width = canvas.height = pixels;
    view.shift = view.shift.map((value) => Math.max(-room, Math.min(room, value)));
    view.scale = (half - 2) * view.zoom;
    view.x = half + view.shift[0];
    view.y = half + view.shift[1];
  };

  // Moving. The point that was grabbed stays under the pointer: (−centre) ⊕ grabbed = place.

  const placeOf = (x, y) => inside([(x - view.x) / view.scale, (view.y - y) / view.scale]);
  const pointAt = (x, y) => add(view.centre, placeOf(x, y));
  const showAt = (point, place) => { view.centre = inside(centreShowing(point, place), 0.9999); };
  const glide = (target) => {
    const from = view.centre, begin = performance.now();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      view.centre = target;
      refresh();
      return;
    }
    viewer.settled = false;
    const step = (now) => {
      const share = Math.min(1, Math.max(0, (now - begin) / GLIDE));
      view.centre = share === 1 ? target : along(from, target, share * (2 - share));
      draw(share < 1);
      if (share < 1) requestAnimationFrame(step);
      else viewer.settled = true;
    };
    requestAnimationFrame(step);
  };
  const zoom = (factor, x = view.x - view.shift[0], y = view.y - view.shift[1]) => {
    const before = view.zoom;
    view.zoom = Math.max(1, Math.min(MOST_ZOOM, before * factor));
    const half = canvas.clientWidth / 2, ratio = view.zoom / before;
    view.shift = [x - half - (x - view.x) * ratio, y - half - (y - view.y) * ratio];
    refresh(true);
  };
  const reset = () => {
    Object.assign(view, { zoom: 1, shift: [0, 0] });
    glide([0, 0]);
  };

  // Pointers: one drags, two pinch.

  const held = new Map();
  let grabbed = null, spread = 0;
  const between = () => {
    const [p, q] = [...held.values()];
    return { apart: Math.hypot(p.x - q.x, p.y - q.y), x: (p.x + q.x) / 2, y: (p.y + q.y) / 2 };
  };
  const on = (name, handle, options) => canvas.addEventListener(name, handle, options);
  on("pointerdown", (event) => {
    if (event.button > 0) return;
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    grabbed = held.size === 1 ? pointAt(event.offsetX, event.offsetY) : null;
    spread = held.size === 2 ? between().apart : 0;
  });
  on("pointermove", (event) => {
    if (!held.has(event.pointerId)) { tell(event.offsetX, event.offsetY); return; }
    held.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    if (held.size === 2) {
      const { apart, x, y } = between();
      zoom(apart / spread, x, y);
      spread = apart;
    } else if (grabbed) {
      showAt(grabbed, placeOf(event.offsetX, event.offsetY));
      refresh(true);
    }
  });
  const release = (event) => { held.delete(event.pointerId); grabbed = null; };
  on("pointerup", release);
  on("pointercancel", release);
  on("wheel", (event) => {
    // scrolling out of an unzoomed disc scrolls the page
    if (event.deltaY > 0 && view.zoom === 1) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
  }, { passive: false });
  on("dblclick", (event) => glide(pointAt(event.offsetX, event.offsetY)));
  on("pointerleave", () => { readout.replaceChildren(); });
  on("keydown", (event) => {
    const side = 0.12, moves = {
      ArrowLeft: [side, 0], ArrowRight: [-side, 0], ArrowUp: [0, -side], ArrowDown: [0, side],
    };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moves[event.key]) { showAt(view.centre, moves[event.key]); refresh(true); }
    else if (event.key === "+" || event.key === "=") zoom(1.4);
    else if (event.key === "-") zoom(1 / 1.4);
    else if (event.key === "0" || event.key === "Home") reset();
    else return;
    event.preventDefault();
    tell(canvas.clientWidth / 2, canvas.clientWidth / 2);
  });

  // What is under the pointer: place, classes, bin and labels. Not whose: the coordinator does not know.

  const tell = (x, y) => {
    canvas.title = titleAt(viewer.labels, x, y);
    const place = [(x - view.x) / view.scale, (view.y - y) / view.scale];
    if (Math.hypot(...place) >= 1) { readout.replaceChildren(); return; }
    const point = add(view.centre, place), { root } = scene.grid;
    const coordinates = point.map((value) => (value / root).toFixed(4).replace("-", "−")).join(", ");
    const lines = [`(${coordinates}), ${(distance([0, 0], point) / root).toFixed(2)} from the origin`];
    const anchor = anchorNear(x, y);
    if (anchor) lines.push("anchor");
    if (scene.classifier && Math.hypot(...point) <= scene.grid.radius) {
      const likely = probabilities(scene.classifier, point).map((share, column) => [share, column])
        .sort((a, b) => b[0] - a[0]).slice(0, 3).filter(([share]) => share >= 0.005);
      lines.push(likely.map(([share, column]) => `${scene.classes[column].name} ${percent(share, 0)}`).join(" · "));
      const corner = cornerNear(x, y);
      if (corner) lines.push(corner);
    }
    readout.replaceChildren(...lines.map((line) => el("span", {}, line)));
  };
  const away = (point, x, y) => {
    const [u, v] = toPixel(view, add(minus(view.centre), point));
    return Math.hypot(u - x, v - y);
  };
  const anchorNear = (x, y) => {
    let nearest = NEAR, found = null;
    for (const anchor of scene.anchors) {
      const apart = away(anchor.point, x, y);
      if (apart < nearest) { nearest = apart; found = anchor; }
    }
    return found;
  };
  const cornerNear = (x, y) => {
    let nearest = NEAR, found = null;
    for (const hull of scene.hulls) {
      if (!shown.columns[hull.column] || !(shown.hulls || shown.bins)) continue;
      hull.corners.forEach((corner, i) => {
        const apart = away(corner, x, y);
        if (apart < nearest) { nearest = apart; found = [hull, i]; }
      });
    }
    if (!found) return null;
    const [hull, i] = found, number = scene.grid.number(hull.rings[i], hull.sectors[i]);
    return `bin ${number.toLocaleString("en")}, corner of hull ${hull.label + 1} ` +
      `(${scene.classes[hull.column].name}, ${hull.corners.length} corners)`;
  };

  // Switches.

  const toggle = (text, checked, change, swatch = null) => {
    const onchange = (event) => { change(event.target.checked); refresh(); };
    const box = el("input", { type: "checkbox", checked, onchange });
    return el("label", { class: "toggle" }, box, swatch, el("span", {}, text));
  };
  const layerBox = el("fieldset", { id: "layers" }, el("legend", {}, "Layers"),
    layers.map((name) => toggle(NAMES[name], shown[name], (value) => { shown[name] = value; })));
  const classBox = el("fieldset", { id: "classes" }, el("legend", {}, "Classes"),
    scene.rank.map((column) => scene.classes[column]).map(({ name, column, colour }) =>
      toggle(name, true, (value) => { shown.columns[column] = value; }, swatchOf(colour))));
  const button = (text, label, onclick) =>
    el("button", { type: "button", "aria-label": label, title: label, onclick }, text);
  const buttons = el("div", { class: "buttons" },
    button("+", "Zoom in", () => zoom(1.6)), button("−", "Zoom out", () => zoom(1 / 1.6)),
    button("Reset", "Back to the whole disc", reset));
  const help = el("p", { class: "help", id: "disc-help" },
    "Drag to move through the disc, scroll or pinch to zoom, double-click to bring a point to the middle. " +
    "Keys: arrows, + and −, 0.");
  const notes = [];
  if (scene.grid.radius < 1) {
    notes.push(el("p", { class: "note" }, "The dashed circle is the study's radius R: all its points lie within. The " +
      "ring from there to the rim is left white, because no cell of the study can lie there."));
  }
  if (scene.anchors.length) {
    notes.push(el("p", { class: "help" }, "Each dot is an anchor, the mean of a group of like cells at one site. " +
      "The encoder does not say whose they are. The encoder places a cell between the three anchors that it is most like."));
  }
  if (scene.points) {
    const n = scene.points.columns.length;
    notes.push(el("p", { class: "help" }, `${thousands(n)} of your ${thousands(scene.points.of)} points are drawn. ` +
      "They are in this file: keep it as carefully as your data."));
  }
  const element = el("div", { class: "viewer" },
    el("div", { class: "stage" }, canvas, buttons, readout),
    el("div", { class: "panel" }, scene.classes.length ? [classBox, layerBox] : null, help, notes));

  new ResizeObserver(() => refresh()).observe(canvas);
  const retheme = () => { theme = inks(document.body); draw(false); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", retheme);
  matchMedia("print").addEventListener("change", retheme);
  return Object.assign(viewer, {
    element,
    /** Where a point of the study's disc appears, in the unit disc and in pixels of the canvas. */
    see: (point) => {
      const place = add(minus(view.centre), point.map((value) => value * scene.grid.root));
      return { place, pixel: toPixel(view, place) };
    },
    /** Milliseconds for a picture of each kind. */
    time: (coarse) => { draw(coarse); return viewer.frame; },
  });
}
