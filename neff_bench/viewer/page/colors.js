// Colours: those of the page and of the engines from its style, shades of them for what an engine does.
const dark = () => document.documentElement.dataset.theme === "dark";

function pageColors() {
  const style = getComputedStyle(document.documentElement), of = name => style.getPropertyValue(name).trim();
  return { paper: of("--paper"), ink: of("--ink"), dim: of("--dim"), rule: of("--rule"), lane: of("--lane"), accent: of("--accent"), mark: of("--mark"), warn: of("--warn") };
}

function rgb(hex) {
  return [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));
}

// One colour for each name on each family of tracks: the family says the hue, the name how light it is. What only waits is grey.
const FAMILIES = ["dma", "sync", "tensor", "vector", "scalar", "gpsimd", "wait"], SHADES = 5;

function eventColors(names, waits) {
  const style = getComputedStyle(document.documentElement), hues = FAMILIES.map(family => rgb(style.getPropertyValue(`--${family}`).trim()));
  const shades = names.map(name => {
    let hash = 7;
    for (const letter of name) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
    return 0.88 + 0.06 * (hash % SHADES);
  });
  return hues.flatMap(hue => shades.map((shade, number) => waits.includes(number) ? hues.at(-1) : hue.map(part => Math.min(255, Math.round(part * shade)))));
}

// One pixel of ImageData, on a machine with low bytes first.
const pixel = (r, g, b) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;
