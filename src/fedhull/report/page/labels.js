// Names on the disc: none over another, none beyond the edge of the drawing.
import { shortened } from "./dom.js";

const LINE = 15, AROUND = 3, MARGIN = 4;
// a name that has to move farther than this from its place is joined to it by a line
const JOINED = 12;
// where a name may go if its place is taken: the nearest that is free
const MOVES = Array.from({ length: 21 }, (_, row) => Array.from({ length: 17 }, (_, column) =>
  [(column - 8) * 22, (row - 10) * LINE])).flat().sort((a, b) => effort(a) - effort(b));

// sideways is cheaper: there lines of text do not pile up
function effort([dx, dy]) {
  return Math.hypot(0.7 * dx, dy);
}

/** Where names go: `wanted` are {name, x, y}, `room` the circle {x, y, radius} that is drawn in. What
    finds no place is left out; the list of classes has it. */
export function placeLabels(context, wanted, room, font) {
  context.font = `600 ${room.radius < 130 ? 11 : 12}px ${font}`;
  const most = Math.min(150, 0.8 * room.radius), placed = [];
  for (const { name, x, y } of wanted) {
    if (Math.hypot(x - room.x, y - room.y) > room.radius) continue;
    const text = fitting(context, name, most), half = context.measureText(text).width / 2 + AROUND;
    const spot = MOVES.map(([dx, dy]) => within(room, x + dx, y + dy, half))
      .find((at) => at && placed.every((other) => apart(other, at, half)));
    if (spot) placed.push({ name, text, x: spot[0], y: spot[1], half, from: [x, y] });
  }
  return placed.map(({ x, y, half, ...label }) => ({
    ...label, x, y, box: [x - half, y - LINE / 2, x + half, y + LINE / 2],
  }));
}

/** The name, shortened until it is no wider than this. */
function fitting(context, name, most) {
  let length = name.length;
  while (length > 3 && context.measureText(shortened(name, length)).width > most) length -= 1;
  return shortened(name, length);
}

/** A place for the middle of a name, moved sideways until all of it is in the room; null if there is no
    such place in this line. */
function within(room, x, y, half) {
  const high = Math.abs(y - room.y) + LINE / 2, reach = room.radius - MARGIN;
  if (high >= reach) return null;
  const side = Math.sqrt(reach * reach - high * high) - half;
  return side < 0 ? null : [Math.max(room.x - side, Math.min(room.x + side, x)), y];
}

const apart = (other, [x, y], half) => Math.abs(other.y - y) >= LINE || Math.abs(other.x - x) >= other.half + half;

export function paintLabels(context, labels, theme) {
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const { x, y, from, box } of labels) {
    const near = [Math.max(box[0], Math.min(box[2], from[0])), Math.max(box[1], Math.min(box[3], from[1]))];
    if (Math.hypot(x - from[0], y - from[1]) <= JOINED || Math.hypot(near[0] - from[0], near[1] - from[1]) < 3) continue;
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...near);
    context.strokeStyle = context.fillStyle = theme.ink;
    context.lineWidth = 0.8;
    context.stroke();
    context.beginPath();
    context.arc(...from, 2, 0, 2 * Math.PI);
    context.fill();
  }
  context.lineWidth = 3.5;
  context.strokeStyle = theme.paper;
  context.fillStyle = theme.ink;
  for (const { text, x, y } of labels) {
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }
}

/** The whole of a shortened name under the pointer, else nothing. */
export const titleAt = (labels, x, y) => labels.find(({ name, text, box }) =>
  name !== text && x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3])?.name ?? "";
