
// The views that are lists: suspects, differences.

/** A sentence with its bytes and counts in readable form. */
function humanized(sentence) {
  return sentence.replace(/\b(\d+) bytes\b/g, (_, bytes) => size(Number(bytes)))
    .replace(/(^|mostly |through |list of )(\d+)(?= )/g, (_, before, number) => before + count(Number(number)));
}

/** Without those within another: they are parts of it. */
function suspectCount() {
  return report.suspects.found.filter(({within}) => within === undefined).length;
}

/** Of a small heap, any share may be large. */
function smallHeapPart() {
  return report.suspects.small && report.suspects.found.length > 0
    ? [make('p', {class: 'lead'}, `The whole heap is small, ${size(liveBytes)} live: a large share of it is nothing unusual.`)] : [];
}

function suspectsView() {
  const {found, threshold} = report.suspects;
  const lead = found.length === 0
    ? 'No single object retains a tenth of the live bytes.'
    : `The few objects that each retain a tenth or more (${size(threshold)}) of the live bytes.`;
  return make('div', {}, ...smallHeapPart(), make('p', {class: 'lead'}, lead), ...found.map(suspectPart));
}

function suspectPart({sentence, retained, within, steps, contents}) {
  return make('article', {class: within === undefined ? 'suspect' : 'suspect within'},
    make('h3', {}, brief(humanized(sentence), 600)), shareBar(retained, liveBytes),
    make('div', {class: 'pair'},
      make('div', {}, make('h4', {}, 'The path to it'), stepsOf(steps)),
      make('div', {}, make('h4', {}, 'What it retains'),
        make('table', {}, make('caption', {class: 'unseen'}, 'What it retains'),
          make('thead', {class: 'unseen'}, make('tr', {}, ...['Type', 'Objects', 'Bytes'].map((text) => (
            make('th', {scope: 'col'}, text))))),
          make('tbody', {}, ...contents.map(([number, objects, bytes]) => make('tr', {},
            make('th', {scope: 'row'}, nameButton(number)), make('td', {}, count(objects)),
            make('td', {}, sizeText(bytes)))))))));
}

/** What leaks, and the path that holds it, in a report on two snapshots. */
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

function differencesView() {
  const {sources, remarks, rows, left_out: leftOut, has_stayed: hasStayed, has_kept: hasKept} = report.difference;
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
  const sheet = new Sheet({caption: 'Growth by type', columns, rows: all, classes: 'wide',
    sort: hasKept ? 'kept' : report.difference.has_retained ? 'retained' : 'grown'});
  const filter = filterFor(sheet, {label: 'Filter growth', things: 'type'});
  const list = make('ol', {class: 'figures'}, ...sources.flatMap(([name, captured, objects, bytes]) => [
    make('li', {class: 'name'}, brief(name)),
    make('li', {class: 'soft'}, `${captured} · ${counted(objects, 'object')} · ${size(bytes)}`)]));
  return make('div', {}, list, ...remarks.map((text) => make('p', {class: 'remark'}, text)),
    make('p', {class: 'lead'}, `From the first to the last: ${growth(sources.at(-1)[3] - sources[0][3])}.`),
    ...holderParts(), filter.element, sheet.element,
    leftOut > 0 ? make('p', {class: 'soft'}, `${counted(leftOut, 'type')} without change, or not listed`) : '');
}
