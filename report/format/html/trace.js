
// A trace: which code makes the objects, and how much of that stays in use.

const traced = report.trace;
const hasHeap = report.has_heap !== false;

function amountsOf([allocations, bytes, inUse, inUseBytes]) {
  return {allocations, bytes, inUse, inUseBytes};
}

/** A row for each place and type; its frames are innermost first. */
const sites = !traced ? [] : traced.sites.map(([type, frames, ...amounts], number) => {
  const texts = frames.map((frame) => traced.frames[frame]);
  return {number, type, texts, name: [nameOf(type), ...texts].join('\n'), ...amountsOf(amounts)};
});
const tracedTypes = !traced ? [] : traced.types.map(([number, ...amounts]) => (
  {number, name: nameOf(number), ...amountsOf(amounts)}));
const tracedTotal = traced && amountsOf(traced.total);
const tracedSeconds = traced ? traced.duration_ns / 1e9 : 0;

/** Warnings that only make amounts in use too high: footnotes. */
const tooHigh = !traced ? [] : traced.warnings.filter((text) => /\d+ samples? too high/.test(text));

/** "about " before what was computed from samples. */
const about = traced && traced.every > 1 ? 'about ' : '';

function rateOf(bytes, seconds = tracedSeconds) {
  return seconds > 0 ? `${size(Math.round(bytes / seconds))}/s` : '';
}

/** "Shop#login (/srv/src/shop.cr:12)" without the folder. */
function codeText(text) {
  return text.replace(/ \((?:[^()]*\/)([^()/]+)\)$/, ' ($1)');
}

/** A frame; the tooltip is its whole path. */
function codeName(text, tag = 'span') {
  return make(tag, {class: 'name', title: brief(text, 1200)}, brief(codeText(text)));
}

/** The places that allocate, whatever the type, those with most of `key` first. */
function placesWith(key) {
  const places = new Map();
  for (const site of sites) {
    const text = site.texts[0] ?? '(unknown)';
    const place = places.get(text) ?? {text, types: new Map(), bytes: 0, inUseBytes: 0};
    places.set(text, place);
    place.bytes += site.bytes;
    place.inUseBytes += site.inUseBytes;
    place.types.set(site.type, (place.types.get(site.type) ?? 0) + site[key]);
  }
  return [...places.values()].filter((place) => place[key] > 0).sort((a, b) => b[key] - a[key]);
}

const shownPlaces = 5;

function placesPart({title, key, whole, note}) {
  const all = placesWith(key);
  if (all.length === 0) return null;
  const rows = all.slice(0, shownPlaces).map((place) => {
    const [type] = [...place.types].sort((a, b) => b[1] - a[1])[0];
    return [make('span', {}, codeName(place.text), ' ',
      make('span', {class: 'soft'}, place.types.size > 1 && nameOf(type) !== '(unknown)' ? `${counted(place.types.size, 'type')}, most of it ` : ''), nameOf(type) === '(unknown)' ? '' : nameButton(type)),
    place[key], `${size(place[key])} · ${percent(place[key], whole)}`];
  });
  return make('article', {class: 'suspect'}, make('h3', {}, title(all[0])), barList(rows, whole),
    ...note.map((text) => make('p', {class: 'note'}, text)));
}

/** A footnote on amounts in use, with its size. */
function noteOf(text) {
  const [, samples] = /(\d+) samples? too high/.exec(text);
  const [why, what] = text.split(/: (.*)/s);
  const bytes = Number(samples) * traced.every;
  return `* ${brief(what ?? text)} (about ${size(bytes)}): ${brief(why)}`;
}

/** The answer of a trace: the code that allocates most, and the code whose objects stay. */
function tracedAnswers() {
  if (!traced || sites.length === 0) return [];
  const parts = [
    placesPart({key: 'bytes', whole: tracedTotal.bytes, note: [],
      title: (place) => `${brief(codeText(place.text))} allocates most`}),
    placesPart({key: 'inUseBytes', whole: tracedTotal.inUseBytes, note: tooHigh.map(noteOf),
      title: (place) => `What stays${tooHigh.length > 0 ? '*' : ''} comes from ${brief(codeText(place.text))}`}),
  ].filter(Boolean);
  if (parts.length === 1) parts[0].append(make('p', {class: 'note'}, 'Nothing of it was in use at the end.'));
  return [make('div', {class: 'answers'}, ...parts),
    hasHeap ? linkTo('allocations', 'All allocations') : null];
}

/** The innermost function of a site, which opens to those that call it. */
function siteCell({texts}) {
  const [first = '(unknown)', ...callers] = texts;
  const text = codeName(first);
  if (callers.length === 0) return text;
  return make('details', {class: 'site'}, make('summary', {}, text),
    make('ol', {}, ...callers.map((caller) => codeName(caller, 'li'))));
}

/** The columns that tables of sites and of types share. */
function amountColumns() {
  return [
    {key: 'bytes', label: 'Allocated', value: (row) => row.bytes, cell: (row) => sizeText(row.bytes)},
    {key: 'share', label: 'of all', class: 'share', value: (row) => row.bytes,
      cell: (row) => shareBar(row.bytes, tracedTotal.bytes)},
    {key: 'allocations', label: 'Allocations', value: (row) => row.allocations, cell: (row) => count(row.allocations)},
    {key: 'inUseBytes', label: 'In use', value: (row) => row.inUseBytes, cell: (row) => sizeText(row.inUseBytes)},
    {key: 'inUse', label: 'Objects in use', value: (row) => row.inUse, cell: (row) => count(row.inUse)},
    {key: 'stays', label: 'Stays', value: (row) => row.inUseBytes / Math.max(1, row.bytes),
      cell: (row) => percent(row.inUseBytes, row.bytes)},
  ];
}

function tracedTypesSheet() {
  const columns = [{key: 'name', label: 'Type', ascending: true, value: (row) => row.name,
    cell: (row) => nameButton(row.number)}, ...amountColumns()];
  return new Sheet({caption: 'Allocations by type', columns, rows: tracedTypes, sort: 'bytes', classes: 'wide',
    shown: 12});
}

function sitesSheet() {
  const columns = [
    {key: 'where', label: 'Code', ascending: true, class: 'where', value: (row) => row.texts.join(' < '), cell: siteCell},
    {key: 'type', label: 'Type', ascending: true, class: 'of', value: (row) => nameOf(row.type),
      cell: (row) => nameButton(row.type)},
    ...amountColumns()];
  return new Sheet({caption: 'Allocations by code', columns, rows: sites, sort: 'bytes', classes: 'wide', shown: 100});
}

function traceSentence() {
  const {bytes, inUseBytes} = tracedTotal;
  const found = traced.every > 1
    ? `Estimated from ${counted(traced.samples, 'sample')}, one for each ${size(traced.every)} on average.`
    : `All ${counted(traced.samples, 'allocation')} recorded.`;
  return make('p', {class: 'lead'}, `In ${tracedSeconds.toFixed(1)} s, ${about}${size(bytes)} were allocated (${rateOf(bytes)}); `
    + `${about}${size(inUseBytes)} of that was in use at the end. ${found}`);
}

function allocationsView() {
  const types = tracedTypesSheet();
  const code = sitesSheet();
  const filter = filterFor(code, {label: 'Filter code', things: 'place'});
  const left = traced.left_out;
  return make('div', {}, ...(hasHeap ? [] : tracedAnswers().filter(Boolean)), traceSentence(), ...timelineParts(),
    make('h3', {class: 'section'}, 'By type'), types.element,
    make('h3', {class: 'section'}, 'By the code that makes them'), filter.element, code.element,
    left.sites > 0 ? make('p', {class: 'soft'}, `${counted(left.sites, 'smaller place')} not listed: ${size(left.bytes)}`) : null);
}

/** For the details of a type: the code that made those that stay first. */
function makersPart(number) {
  const rows = sites.filter((site) => site.type === number)
    .sort((a, b) => b.inUseBytes - a.inUseBytes || b.bytes - a.bytes);
  if (rows.length === 0) return [];
  const all = tracedTypes.find((row) => row.number === number);
  const column = (text) => make('th', {scope: 'col'}, text);
  const left = rows.length - Math.min(rows.length, mostLines);
  const caption = 'Which code makes them';
  return [make('h3', {}, caption),
    make('p', {class: 'soft'}, `In ${tracedSeconds.toFixed(1)} s: ${about}${counted(all.allocations, 'object')}, ${about}${count(all.inUse)} of them still in use`),
    make('table', {class: 'makers'}, make('caption', {class: 'unseen'}, caption),
      make('thead', {}, make('tr', {}, column('Code'), column('In use'), column('Allocated'))),
      make('tbody', {}, ...rows.slice(0, mostLines).map((row) => make('tr', {},
        make('th', {scope: 'row'}, siteCell(row)), make('td', {}, sizeText(row.inUseBytes)), make('td', {}, sizeText(row.bytes)))))),
    ...(left > 0 ? [make('p', {class: 'soft'}, `and ${count(left)} more`)] : [])];
}

const values = [
  {key: 'bytes', label: 'Allocated', write: size},
  {key: 'inUseBytes', label: 'In use', write: size},
  {key: 'allocations', label: 'Allocations', write: (number) => counted(number, 'allocation')},
  {key: 'inUse', label: 'Objects in use', write: (number) => counted(number, 'object')},
];

/** The stacks of the sites as a tree, the outermost function first, and types last. */
function tracedTree() {
  const root = {text: 'All', parent: null, children: [], amounts: {bytes: 0, inUseBytes: 0, allocations: 0, inUse: 0}};
  const below = (node, key, text, type) => {
    node.byKey ??= new Map();
    if (!node.byKey.has(key)) {
      const child = {text, type, parent: node, children: [], amounts: {bytes: 0, inUseBytes: 0, allocations: 0, inUse: 0}};
      node.byKey.set(key, child);
      node.children.push(child);
    }
    return node.byKey.get(key);
  };
  for (const site of sites) {
    const line = [root];
    for (const text of [...site.texts].reverse()) line.push(below(line.at(-1), `f${text}`, text));
    line.push(below(line.at(-1), `t${site.type}`, nameOf(site.type), site.type));
    for (const node of line) for (const {key} of values) node.amounts[key] += site[key];
  }
  return root;
}

/** Makes `retained` of each node, which is its width, one of the four values. */
function chooseValue(root, key) {
  const nodes = [root];
  while (nodes.length > 0) {
    const node = nodes.pop();
    node.retained = node.amounts[key];
    node.children.sort((a, b) => b.amounts[key] - a.amounts[key]);
    nodes.push(...node.children);
  }
}

function tracedFlameView() {
  const root = tracedTree();
  let value = values[0];
  chooseValue(root, value.key);
  const world = {
    root,
    label: (node) => codeText(node.text),
    line: (node) => (node.parent ? [...world.line(node.parent), node] : [node]),
    above: (node) => node.parent ?? root,
    hue: (node) => (node.parent && node.type === undefined ? hueOf(node.text) : undefined),
    describe: (node) => `: ${about}${value.write(node.retained)}, ${percent(node.retained, root.retained)} of all`,
    open: (node, how) => { if (node.type !== undefined) details.open(node.type, how); },
    amount: (node) => value.write(node.retained),
  };
  const view = new TreeView({name: 'Allocation flame graph', picture: make('div', {class: 'flame'}), draw: drawFlame, world});
  const buttons = values.map((one) => make('button', {class: 'button', type: 'button',
    'aria-pressed': String(one === value), onclick: () => {
      value = one;
      chooseValue(root, one.key);
      buttons.forEach((button, at) => button.setAttribute('aria-pressed', String(values[at] === one)));
      view.redraw();
      announce(`The width is ${one.label}`);
    }}, one.label));
  view.element.prepend(make('p', {class: 'tools buttons'}, ...buttons));
  return view;
}
