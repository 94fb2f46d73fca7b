// Colours: those of the page from its style, those of events from their name.
const dark = () => document.documentElement.dataset.theme === "dark";

function pageColors() {
  const style = getComputedStyle(document.documentElement), of = name => style.getPropertyValue(name).trim();
  return { paper: of("--paper"), ink: of("--ink"), dim: of("--dim"), rule: of("--rule"), lane: of("--lane"), accent: of("--accent"), mark: of("--mark"), warn: of("--warn") };
}

function rgb(hex) {
  return [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));
}

// What only waits is grey.
function nameColors(names, waits) {
  const [saturation, light] = dark() ? [0.5, 0.55] : [0.55, 0.5];
  return names.map((name, number) => {
    if (waits.includes(number)) return rgb(dark() ? "#4a525c" : "#b3bac2");
    let hash = 7;
    for (const letter of name) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
    return fromHsl((hash * 137.508) % 360, saturation, light);
  });
}

function fromHsl(hue, saturation, light) {
  const a = saturation * Math.min(light, 1 - light);
  return [0, 8, 4].map(n => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (light - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  });
}

// One pixel of ImageData, on a machine with low bytes first.
const pixel = (r, g, b) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;
