// What lies over the timeline: the selected event with arrows to what it depends on, an area, the outlines of the critical path.
const OUTLINES_MAX = 2000, ARROWS_MAX = 60;

function boxOf(t, event) {
  const number = trackOf(t.head, event), lane = t.lanes.find(one => one.track === number);
  const at = t.head.tracks[number].rows.findIndex(([, last]) => event < last);
  return { x: toX(t, t.events.start[event]), width: Math.max(2, (t.events.end[event] - t.events.start[event]) / (t.view.to - t.view.from) * t.size.plot),
    y: lane.y + at * lane.row - t.scroll, height: lane.row };
}

function paintOver(t) {
  const g = t.over.getContext("2d");
  g.setTransform(t.ratio, 0, 0, t.ratio, 0, 0);
  g.clearRect(0, 0, t.size.width, t.size.height);
  g.save();
  g.beginPath(); g.rect(t.labels, AXIS, t.size.plot, t.size.height - AXIS); g.clip();
  if (t.showPath && t.path) outlinePath(t, g);
  if (t.area) {
    const left = toX(t, t.area.from), width = toX(t, t.area.to) - left;
    g.fillStyle = t.page.accent; g.globalAlpha = 0.16;
    g.fillRect(left, t.area.top - t.scroll, width, t.area.bottom - t.area.top);
    g.globalAlpha = 1; g.strokeStyle = t.page.accent;
    g.strokeRect(left, t.area.top - t.scroll, width, t.area.bottom - t.area.top);
  }
  if (t.moment !== null) {
    g.strokeStyle = t.page.mark; g.lineWidth = 1;
    g.beginPath(); g.moveTo(toX(t, t.moment), AXIS); g.lineTo(toX(t, t.moment), t.size.height); g.stroke();
  }
  if (t.selected >= 0) {
    const box = boxOf(t, t.selected);
    g.lineWidth = 2; g.strokeStyle = t.page.mark;
    g.strokeRect(box.x - 1, box.y - 1, box.width + 2, box.height + 1);
    for (const [event] of predecessors(t.events, t.selected).slice(0, ARROWS_MAX)) arrow(t, g, event, t.selected, t.page.mark);
    for (const [event] of successors(t.events, t.selected).slice(0, ARROWS_MAX)) arrow(t, g, t.selected, event, t.page.accent);
  }
  g.restore();
}

function outlinePath(t, g) {
  const { event, start, end } = t.path;
  const first = firstAbove(end, 0, end.length, t.view.from), last = firstAbove(start, first, start.length, t.view.to);
  if (last - first > OUTLINES_MAX) return;
  g.strokeStyle = t.page.ink; g.lineWidth = 1;
  for (let i = first; i < last; i++) {
    const box = boxOf(t, event[i]);
    g.strokeRect(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1);
  }
}

function arrow(t, g, from, to, color) {
  const a = boxOf(t, from), b = boxOf(t, to), x1 = a.x + a.width, y1 = a.y + a.height / 2, x2 = b.x, y2 = b.y + b.height / 2;
  const bend = Math.max(12, Math.abs(x2 - x1) / 3);
  g.strokeStyle = g.fillStyle = color; g.lineWidth = 1.2;
  g.beginPath(); g.moveTo(x1, y1); g.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2); g.stroke();
  g.beginPath(); g.moveTo(x2, y2); g.lineTo(x2 - 6, y2 - 3); g.lineTo(x2 - 6, y2 + 3); g.fill();
}
