// The timeline: what it shows, and its painting.
const HEIGHT_MAX = 0.48; // of the window, since what stands below is read beside it

function makeTimeline(host, head, events) {
  host.replaceChildren(document.getElementById("timeline").content.cloneNode(true));
  const $ = name => host.querySelector(name);
  let last = 0;
  for (let i = 0; i < events.count; i++) if (events.end[i] > last) last = events.end[i];
  const whole = { from: 0, to: last || 1 };
  const size = events.names.length, tracks = trackNumbers(head, events), bases = head.tracks.map(track => FAMILIES.indexOf(track.family) * size), ofDmas = FAMILIES.indexOf("dma") * size;
  const paints = (event, ofDma) => (ofDma ? ofDmas : bases[tracks[event]]) + events.name[event];
  const t = { host, head, events, whole, view: { ...whole }, scroll: 0, selected: -1, area: null, moment: null, found: null, text: "", lines: [], showPath: true,
    path: head.path.length ? pathRow(head, events, paints) : null, onPath: new Set(head.path.map(([event]) => event)),
    base: $(".base"), over: $(".over"), frame: 0, painted: 0 };
  $(".badge").hidden = !head.simulated;
  layOut(t);
  recolor(t);
  return t;
}

function layOut(t) {
  Object.assign(t, lanesOf(t.head, t.path));
  const plane = t.base.parentElement, height = Math.min(t.height, Math.max(200, innerHeight * HEIGHT_MAX)), width = plane.clientWidth, ratio = devicePixelRatio || 1;
  if (t.size && t.size.width === width && t.size.height === height && t.ratio === ratio) return; // as it is painted already
  plane.style.height = `${height}px`;
  t.labels = Math.min(LABELS_MAX, width * LABELS_PART);
  t.ratio = ratio;
  t.size = { width, height, plot: Math.max(1, width - t.labels) };
  for (const canvas of [t.base, t.over]) {
    canvas.width = Math.round(t.size.width * t.ratio);
    canvas.height = Math.round(height * t.ratio);
  }
  t.image = new ImageData(Math.max(1, Math.round(t.size.plot * t.ratio)), t.base.height);
  t.pixels = new Uint32Array(t.image.data.buffer);
  scrollBy(t, 0);
}

function recolor(t) {
  t.page = pageColors();
  t.colors = eventColors(t.events.names, t.head.waits);
  t.inks = t.colors.map(([r, g, b]) => 0.3 * r + 0.59 * g + 0.11 * b > 125 ? "#000" : "#fff");
  redraw(t);
}

function redraw(t) {
  t.frame ||= requestAnimationFrame(() => paint(t));
}

function scrollBy(t, by) {
  t.scroll = Math.max(0, Math.min(t.height - t.size.height, t.scroll + by));
  redraw(t);
}

const toX = (t, time) => t.labels + (time - t.view.from) / (t.view.to - t.view.from) * t.size.plot;
const toTime = (t, x) => t.view.from + (x - t.labels) / t.size.plot * (t.view.to - t.view.from);

function look(t, from, to) {
  const span = Math.min(t.whole.to * 1.1, Math.max(1, to - from)), margin = t.whole.to * 0.05;
  from = Math.max(-margin, Math.min(t.whole.to + margin - span, from));
  t.view = { from, to: from + span };
  redraw(t);
}

function zoom(t, factor, at = (t.view.from + t.view.to) / 2) {
  look(t, at - (at - t.view.from) * factor, at + (t.view.to - at) * factor);
}

function pan(t, share) {
  const by = share * (t.view.to - t.view.from);
  look(t, t.view.from + by, t.view.to + by);
}

function paint(t) {
  cancelAnimationFrame(t.frame);
  t.frame = 0;
  const g = t.base.getContext("2d", { alpha: false }), { page, ratio } = t;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.fillStyle = page.paper;
  g.fillRect(0, 0, t.size.width, t.size.height);
  paintEvents(t, g);
  g.font = "12px system-ui, sans-serif";
  g.textBaseline = "middle";
  const shown = t.lanes.filter(lane => lane.y + lane.height - t.scroll > AXIS && lane.y - t.scroll < t.size.height);
  for (const lane of shown) {
    const y = lane.y - t.scroll;
    g.fillStyle = page.ink;
    g.fillText(lane.title, 8, y + lane.height / 2, t.labels - 12);
    g.fillStyle = page.rule;
    g.fillRect(0, y + lane.height + 1, t.size.width, 1);
    if (lane.kind === "usage") paintUsage(t, g, lane, y);
    if (lane.kind === "track" && lane.row >= 9) labelEvents(t, g, lane, y);
    if (lane.kind === "path" && t.showPath) labelPath(t, g, y + lane.height / 2);
  }
  paintAxis(t, g);
  if (t.height > t.size.height) {
    const part = t.size.height / t.height;
    g.fillStyle = page.dim;
    g.fillRect(t.size.width - 5, t.scroll * part, 5, t.size.height * part);
  }
  if (t.head.simulated) {
    g.font = "600 12px system-ui, sans-serif";
    g.textAlign = "right";
    g.fillStyle = page.warn;
    g.fillText("SIMULATED", t.size.width - 14, t.size.height - 10);
    g.textAlign = "left";
  }
  paintOver(t);
  remember(t);
  t.painted++;
}

function paintEvents(t, g) {
  const { pixels, ratio, events, page } = t, width = t.image.width, height = t.image.height;
  const paper = rgb(page.paper), laneRgb = rgb(page.lane), lanePixel = pixel(...laneRgb), accent = pixel(...rgb(page.accent)), line = new Uint32Array(width);
  pixels.fill(pixel(...paper));
  const row = (source, first, last, y, tall, base, found) => {
    const top = Math.max(Math.round(AXIS * ratio), Math.round(y * ratio)), bottom = Math.min(height, Math.round((y + tall) * ratio));
    if (bottom <= top) return;
    line.fill(lanePixel);
    paintRow(line, source, first, last, t.view, t.colors, base, laneRgb, accent, found);
    for (let at = top; at < bottom; at++) pixels.set(line, at * width);
  };
  for (const lane of t.lanes) {
    const y = lane.y - t.scroll;
    if (y > t.size.height || y + lane.height < AXIS) continue;
    if (lane.kind === "path") { if (t.showPath) row(t.path, 0, t.path.start.length, y, lane.height, 0, null); }
    else if (lane.kind === "track")
      t.head.tracks[lane.track].rows.forEach(([first, last], at) => row(events, first, last, y + at * lane.row, lane.row - (lane.row > 3 ? 1 : 0), baseOf(t, lane), t.found));
  }
  g.putImageData(t.image, Math.round(t.labels * ratio), 0);
}

const baseOf = (t, lane) => FAMILIES.indexOf(t.head.tracks[lane.track].family) * t.events.names.length;

function labelEvents(t, g, lane, y) {
  const { events } = t, base = baseOf(t, lane);
  g.font = `${Math.min(11, lane.row - 1)}px system-ui, sans-serif`;
  t.head.tracks[lane.track].rows.forEach(([first, last], at) => {
    let i = firstAbove(events.end, first, last, t.view.from);
    if (firstAbove(events.start, i, last, t.view.to) - i > 300) return;
    for (; i < last && events.start[i] < t.view.to; i++)
      label(t, g, base + events.name[i], events.start[i], events.end[i], y + at * lane.row + lane.row / 2);
  });
  g.font = "12px system-ui, sans-serif";
}

// Steps of the critical path with one name that follow each other have one label.
function labelPath(t, g, middle) {
  const { start, end, name } = t.path;
  let i = firstAbove(end, 0, end.length, t.view.from);
  if (firstAbove(start, i, start.length, t.view.to) - i > 3000) return;
  for (let j = i; i < start.length && start[i] < t.view.to; i = ++j) {
    while (j + 1 < start.length && name[j + 1] === name[i] && start[j + 1] <= end[j]) j++;
    label(t, g, name[i], start[i], end[j], middle);
  }
}

function label(t, g, name, from, to, middle) {
  const left = Math.max(t.labels, toX(t, from)), right = Math.min(t.size.width, toX(t, to));
  if (right - left < 28) return;
  g.save();
  g.beginPath(); g.rect(left, 0, right - left - 2, t.size.height); g.clip();
  g.fillStyle = t.inks[name];
  g.fillText(t.events.names[name % t.events.names.length], left + 3, middle);
  g.restore();
}

function paintUsage(t, g, lane, y) {
  const values = t.head.usage[lane.usage].values, bottom = y + lane.height;
  let most = 0;
  for (let i = 1; i < values.length; i += 2) most = Math.max(most, values[i]);
  const high = Math.max(1, most), at = share => bottom - share / high * (lane.height - 4);
  g.save();
  g.beginPath(); g.rect(t.labels, AXIS, t.size.plot, t.size.height); g.clip();
  g.fillStyle = t.page.accent;
  g.globalAlpha = 0.55;
  for (let i = 0; i < values.length; i += 2) {
    const right = i + 2 < values.length ? values[i + 2] : t.whole.to;
    if (right < t.view.from || values[i] > t.view.to) continue;
    g.fillRect(toX(t, values[i]), at(values[i + 1]), Math.max(0.5, toX(t, right) - toX(t, values[i])), bottom - at(values[i + 1]));
  }
  g.restore();
  g.fillStyle = t.page.dim;
  g.textAlign = "right";
  g.fillText(`at most ${(100 * most).toFixed(1)} %`, t.size.width - 12, y + 9);
  g.textAlign = "left";
}

function paintAxis(t, g) {
  const span = t.view.to - t.view.from, rough = span / (t.size.plot / 110), power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(k => k * power >= rough);
  g.fillStyle = t.page.paper;
  g.fillRect(0, 0, t.size.width, AXIS);
  g.fillStyle = t.page.dim;
  const first = Math.ceil(t.view.from / step);
  for (let tick = 0; tick * step <= span; tick++) {
    const time = (first + tick) * step, x = toX(t, time);
    g.fillRect(x, AXIS - 5, 1, 5);
    g.fillText(timeText(time, step), x + 3, AXIS / 2);
  }
}

const timeText = (ns, step = 1) => `${(ns / 1000).toFixed(step >= 1000 ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : 3)} us`;
