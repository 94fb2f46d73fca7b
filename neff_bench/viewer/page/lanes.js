// The lanes of a timeline from top to bottom, and the pixels of one row of events.
const LABELS_MAX = 190, LABELS_PART = 0.26, AXIS = 24, LANE = 18, GAP = 3, USAGE = 28, SAMPLES = 7, FAINTEST = 0.3;

function lanesOf(head, path) {
  const lanes = [];
  let y = AXIS;
  const add = lane => { lanes.push({ ...lane, y }); y += lane.height + GAP; };
  if (path) add({ kind: "path", title: "Critical path", height: LANE });
  head.usage.forEach((usage, number) => add({ kind: "usage", title: usage.title, usage: number, height: USAGE }));
  head.tracks.forEach((track, number) => {
    const depth = track.rows.length, row = depth === 1 ? LANE : depth <= 4 ? 9 : depth <= 16 ? 3 : 2;
    add({ kind: "track", title: track.title, track: number, row, height: row * depth });
  });
  return { lanes, height: y };
}

// The critical path as a row of its own; its steps follow each other. What waits for the packets of a DMA has the colour of DMA queues.
function pathRow(head, events, paints) {
  const count = head.path.length, start = new Float64Array(count), end = new Float64Array(count), busy = new Float64Array(count + 1), name = new Uint32Array(count);
  head.path.forEach(([event, begin, stop, ofDma], i) => {
    start[i] = begin;
    end[i] = stop;
    busy[i + 1] = busy[i] + stop - begin;
    name[i] = paints(event, ofDma);
  });
  return { start, end, busy, name, event: head.path.map(([event]) => event) };
}

// Paint the events [first, last) of a row into a line of pixels: each pixel shows the share of its time that is busy, in the colour of the
// longest of a few events in it. `base`: where the colours of the row begin. `found`: a search; what it did not find is faint.
function paintRow(line, events, first, last, view, colors, base, paper, accent, found) {
  const { start, end, busy, name } = events, width = line.length, step = (view.to - view.from) / width;
  let i = firstAbove(end, first, last, view.from);
  for (let x = 0; x < width && i < last; x++) {
    const from = view.from + x * step, to = from + step;
    i = firstAbove(end, i, last, from);
    if (i >= last) return;
    if (start[i] >= to) { x = Math.max(x, Math.floor((start[i] - view.from) / step) - 1); continue; }
    if (start[i] <= from && end[i] >= to) {
      const stop = Math.min(width, Math.max(x + 1, Math.floor((end[i] - view.from) / step)));
      line.fill(blend(colors[base + name[i]], found ? (found.has(i) ? 1 : 0.25) : 1, paper), x, stop);
      x = stop - 1;
      continue;
    }
    const j = Math.max(i + 1, firstAbove(start, i, last, to));
    let share = busy[j] - busy[i] - Math.max(0, from - start[i]) - Math.max(0, end[j - 1] - to);
    share = Math.min(1, Math.max(FAINTEST, share / step));
    if (found) {
      line[x] = found.before[j] > found.before[i] ? accent : blend(colors[base + name[i]], 0.25 * share, paper);
      continue;
    }
    let longest = i;
    const jump = Math.max(1, Math.floor((j - i) / SAMPLES));
    for (let k = i + jump; k < j; k += jump) if (end[k] - start[k] > end[longest] - start[longest]) longest = k;
    line[x] = blend(colors[base + name[longest]], share, paper);
  }
}

function blend(color, share, paper) {
  const rest = 1 - share;
  return pixel(color[0] * share + paper[0] * rest, color[1] * share + paper[1] * rest, color[2] * share + paper[2] * rest);
}
