
// Shared by all views: making elements, writing figures, notifying a screen reader.
//
// Texts of the report become text nodes and text attributes, never markup.

/** An element. `attributes`: `class`, `on…` for listeners, `style` as an object, others unchanged. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === 'style') {
      for (const [name, setting] of Object.entries(value)) element.style.setProperty(name, setting);
    } else if (typeof value === 'function') {
      element.addEventListener(key.slice(2), value);
    } else {
      element.setAttribute(key, value === true ? '' : String(value));
    }
  }
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

function byId(id) {
  return document.getElementById(id);
}

const grouped = new Intl.NumberFormat('en');

/** 20494 as "20,494". */
function count(number) {
  return grouped.format(number);
}

/** "1 object", "20,494 objects". */
function counted(number, thing) {
  return `${count(number)} ${thing}${number === 1 ? '' : 's'}`;
}

const units = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** 4938960 as "4.71 MiB"; below 1 KiB as "48 B". */
function size(bytes) {
  if (Math.abs(bytes) < 1024) return `${bytes} B`;
  let value = bytes;
  let unit = -1;
  do {
    value /= 1024;
    ++unit;
  } while (Math.abs(value) >= 999.5 && unit + 1 < units.length);
  const digits = Math.abs(value) >= 99.95 ? 0 : Math.abs(value) >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

/** The same with its sign: "+4.71 MiB". */
function growth(bytes) {
  return `${bytes < 0 ? '−' : '+'}${size(Math.abs(bytes))}`;
}

/** A part of a whole as "12.3 %". */
function percent(part, whole) {
  const share = whole > 0 ? (100 * part) / whole : 0;
  if (share > 0 && share < 0.1) return '< 0.1 %';
  return `${share.toFixed(share >= 99.95 ? 0 : 1)} %`;
}

/** A bar as long as its part of the whole, with the share in figures. */
function shareBar(part, whole) {
  const share = whole > 0 ? Math.min(1, part / whole) : 0;
  return make('span', {class: 'track'},
    make('span', {class: 'meter', 'aria-hidden': 'true'},
      make('span', {style: {width: `${(100 * share).toFixed(2)}%`}})),
    make('span', {class: 'percent'}, percent(part, whole)));
}

/** A list of bars, each with its text and its figure in it. `rows`: [content, part, figure]. */
function barList(rows, whole) {
  return make('ol', {class: 'bars'}, ...rows.map(([content, part, figure]) => make('li', {},
    make('span', {class: 'fill', 'aria-hidden': 'true',
      style: {width: `${(100 * Math.min(1, whole > 0 ? part / whole : 0)).toFixed(2)}%`}}),
    make('span', {class: 'row'}, content, make('span', {class: 'figure'}, figure)))));
}

/** Bytes in readable form; the exact number is the tooltip. */
function sizeText(bytes) {
  return make('span', {title: `${count(bytes)} bytes`}, size(bytes));
}

/** "2026-11-25T22:10:11Z" as "2026-11-25 22:10:11 UTC". */
function timeText(time) {
  return (time || '').replace('T', ' ').replace(/\.\d+Z$|Z$/, ' UTC');
}

/** Makes a screen reader say it after its present sentence. */
function announce(text) {
  byId('live').textContent = text;
}

/** A colour for a name, the same each time; neighbours in the alphabet are not neighbours in hue. */
function hueOf(text) {
  let hash = 2166136261;
  for (let i = 0; i < text.length; ++i) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return (((hash >>> 8) % 24) * 15 + 10) % 360;
}

/** `text` cut to that many letters, for labels; the details have all of it. */
function brief(text, letters = 200) {
  return text.length <= letters ? text : `${text.slice(0, letters)}…`;
}
