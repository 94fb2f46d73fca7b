// What the page holds as text: its data, and columns that encoding.py wrote: base64, gzip, all low bytes first.
const data = JSON.parse(document.getElementById("data").textContent);
const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f8: Float64Array };

async function unpacked(id) {
  const text = document.getElementById(id).textContent;
  const zipped = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The columns of a case. Each is made when it is asked for: a first painting needs few.
function columnsOf(described, data) {
  const columns = {};
  let at = 0;
  for (const [name, kind, count] of described) {
    const begin = at;
    later(columns, name, () => columnOf(kind, count, data, begin));
    at += count * TYPES[kind].BYTES_PER_ELEMENT;
  }
  return columns;
}

function columnOf(kind, count, data, at) {
  const column = new TYPES[kind](count), bytes = new Uint8Array(column.buffer), size = column.BYTES_PER_ELEMENT;
  for (let plane = 0; plane < size; plane++, at += count)
    if (size === 1) bytes.set(data.subarray(at, at + count));
    else for (let i = 0, to = plane; i < count; i++, to += size) bytes[to] = data[at + i];
  return column;
}

// A property that is made when it is first read.
function later(object, name, make) {
  Object.defineProperty(object, name, { configurable: true, enumerable: true, get() { const value = make(); Object.defineProperty(object, name, { value }); return value; } });
}

function element(name, content, properties = {}) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...[content].flat());
  return made;
}
