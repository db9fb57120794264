
// A report on two or three snapshots: what has grown, where, and what holds it.

/** What grows, and the path that holds it. */
function holderParts() {
  const {holders = []} = report.difference || {};
  return holders.map(({sentence, objects, with: others, through, steps, others: otherPaths}) => make('article', {class: 'suspect'},
    make('h3', {}, brief(humanized(sentence), 600)),
    others.length === 0 ? null : make('p', {class: 'lead'}, 'with ',
      ...others.flatMap(([name, number, bytes], at) => [at === 0 ? '' : ', ', `${count(number)} `,
        make('span', {class: 'name'}, brief(name)), ` (${size(bytes)})`])),
    make('h4', {}, through === objects ? 'All are held by this path, or one like it'
      : `${count(through)} of them are held by this path, or one like it`),
    stepsOf(steps),
    ...otherPaths.map(([number, text]) => make('p', {class: 'soft'}, `${count(number)} through ${brief(text, 600)}`))));
}

function growthCell(before, after, write) {
  const grown = after - before;
  const kind = grown > 0 ? 'grown' : grown < 0 ? 'shrunk' : 'soft';
  return make('span', {class: kind}, grown === 0 ? '±0' : write(grown));
}

/** The growth of each type. */
function growthSheet() {
  const {rows, has_stayed: hasStayed, has_kept: hasKept} = report.difference;
  const all = rows.map(([name, beforeObjects, before, afterObjects, after, stayed, kept, retained = 0]) => (
    {name, beforeObjects, before, afterObjects, after, stayed, kept, retained}));
  const signed = (number) => `${number < 0 ? '−' : '+'}${count(Math.abs(number))}`;
  const numbers = new Map(typeRows.map((row) => [row.name, row.number]));
  const columns = [
    {key: 'name', label: 'Type', ascending: true, value: (row) => row.name, cell: (row) => (
      numbers.has(row.name) ? nameButton(numbers.get(row.name))
        : make('span', {class: 'name'}, brief(row.name)))},
    {key: 'grown', label: 'Bytes grown', value: (row) => row.after - row.before,
      cell: (row) => growthCell(row.before, row.after, growth)},
    {key: 'objects', label: 'Objects grown', value: (row) => row.afterObjects - row.beforeObjects,
      cell: (row) => growthCell(row.beforeObjects, row.afterObjects, signed)},
    {key: 'before', label: 'Before', value: (row) => row.before, cell: (row) => sizeText(row.before)},
    {key: 'after', label: 'After', value: (row) => row.after, cell: (row) => sizeText(row.after)},
  ];
  if (report.difference.has_retained) {
    columns.splice(1, 0, {key: 'retained', label: 'Retained grown', value: (row) => row.retained,
      cell: (row) => growthCell(0, row.retained, growth)});
  }
  if (hasStayed) {
    columns.push({key: 'stayed', label: 'Objects that stayed', value: (row) => row.stayed,
      cell: (row) => count(row.stayed)});
  }
  if (hasKept) {
    columns.push({key: 'kept', label: 'Came and stayed', value: (row) => row.kept,
      cell: (row) => count(row.kept)});
  }
  return new Sheet({caption: 'Growth by type', columns, rows: all, classes: 'wide',
    sort: hasKept ? 'kept' : report.difference.has_retained ? 'retained' : 'grown'});
}

/** The tree of what has grown: areas are growth, and what has not grown is left out. */
function grownTree() {
  const numbers = new Map();
  const nodes = [];
  report.tree.forEach(([parent, name, , , , grown, own], at) => {
    if (at > 0 && grown === 0) return;
    numbers.set(at, nodes.length);
    nodes.push({index: nodes.length, parent: numbers.get(parent) ?? 0, name, objects: 0, bytes: own, retained: grown});
  });
  return linked(nodes);
}

function growthTreemap() {
  const nodes = grownTree();
  const [root] = nodes;
  if (root.retained === 0) return null;
  const world = {
    ...heapWorld,
    root,
    line: (node) => lineOf(node, nodes),
    above: (node) => nodes[node.parent],
    amount: (node) => growth(node.retained),
    describe: (node) => `: ${growth(node.retained)}, ${percent(node.retained, root.retained)} of all growth`,
  };
  return treemapView({name: 'Growth as a treemap', world, classes: 'treemap of-growth'});
}

/** Both snapshots in a line each, and the difference between them. */
function growthSummary() {
  const {sources} = report.difference;
  const line = ([name, captured, objects, bytes]) => make('li', {}, make('span', {class: 'name', title: brief(name)}, brief(name.split('/').pop())),
    make('span', {class: 'soft'}, ` ${[timeText(captured), counted(objects, 'object'), size(bytes)].filter(Boolean).join(' · ')}`));
  return make('ol', {class: 'compared'}, ...sources.map(line));
}

function growthView() {
  const {remarks, left_out: leftOut, has_tree: hasTree} = report.difference;
  const sheet = growthSheet();
  const filter = filterFor(sheet, {label: 'Filter growth', things: 'type'});
  const picture = hasTree ? growthTreemap() : null;
  const holders = holderParts();
  return make('div', {}, ...findingsPart(), growthSummary(),
    ...remarks.map((text) => make('p', {class: 'remark'}, brief(text, 1200))),
    make('div', {class: 'at-once'},
      picture === null ? null : make('div', {}, make('h3', {class: 'section'}, 'Where it has grown',
        make('span', {class: 'soft'}, ' each area is what its type has grown there')), picture.element),
      holders.length === 0 ? null : make('div', {}, make('h3', {class: 'section'}, 'What holds the new objects'), ...holders)),
    make('h3', {class: 'section'}, 'By type'), filter.element, sheet.element,
    leftOut > 0 ? make('p', {class: 'soft'}, `${counted(leftOut, 'type')} without change, or not listed`) : null);
}

function growthCards() {
  const {sources} = report.difference;
  const [[, , objectsBefore, before], [, , objects, bytes]] = [sources[0], sources.at(-1)];
  const more = objects - objectsBefore;
  return [card('Grown', make('span', {class: bytes > before ? 'grown' : bytes < before ? 'shrunk' : undefined,
    title: `${count(bytes - before)} bytes`}, growth(bytes - before)),
  `${more < 0 ? '−' : '+'}${counted(Math.abs(more), 'object')}`)];
}
