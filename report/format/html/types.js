
// The counts: a row for each type.

/** An address, as a button that opens the object if it can be inspected. */
function objectButton(text) {
  const object = objectAt(text);
  if (!object) return make('span', {class: 'name'}, text);
  return make('button', {class: 'name address', type: 'button',
    onclick: () => details.open(object.type, {object: text})}, text);
}

/** A button with a type's name, which opens its details. */
function nameButton(number) {
  const text = nameOf(number);
  return make('button', {class: 'name', type: 'button', onclick: () => details.open(number)},
    brief(text));
}

function typesView() {
  const total = liveBytes;
  const columns = [
    {key: 'name', label: 'Type', ascending: true, value: (row) => row.name,
      cell: (row) => (row.isReachable ? nameButton(row.number)
        : make('span', {}, nameButton(row.number), make('span', {class: 'soft'}, ' not reachable')))},
    ...(guesses.size > 0 ? [{key: 'guess', label: 'Guess', class: 'words', ascending: true,
      value: (row) => guesses.get(row.number) ?? '', cell: (row) => make('span', {class: 'name soft'}, brief(guesses.get(row.number) ?? ''))}] : []),
    {key: 'objects', label: 'Objects', value: (row) => row.objects,
      cell: (row) => count(row.objects)},
    {key: 'bytes', label: 'Bytes', value: (row) => row.bytes, cell: (row) => sizeText(row.bytes)},
    {key: 'share', label: 'of all', class: 'share', value: (row) => row.bytes,
      cell: (row) => shareBar(row.bytes, total)},
  ];
  if (report.has_edges) {
    columns.push(
      {key: 'retained', label: 'Retained', value: (row) => row.retained,
        cell: (row) => sizeText(row.retained)},
      {key: 'kept', label: 'of all', class: 'share', value: (row) => row.retained,
        cell: (row) => shareBar(row.retained, total)});
  }
  const sheet = new Sheet({caption: 'Objects by type', columns, rows: typeRows, sort: 'bytes',
    classes: 'wide', group: ownFirst, chosen: (row) => row.number === details.current});
  details.onchange = () => sheet.draw();
  const sums = (rows) => {
    const sum = (key) => rows.reduce((before, row) => before + row[key], 0);
    return rows.length === typeRows.length ? ''
      : `, ${counted(sum('objects'), 'object')}, ${size(sum('bytes'))}`;
  };
  const filter = filterFor(sheet, {label: 'Filter types', things: 'type', extra: sums});
  const ownButton = make('button', {class: 'button', type: 'button', 'aria-pressed': 'true', onclick: () => {
    sheet.isGrouped = !sheet.isGrouped;
    ownButton.setAttribute('aria-pressed', String(sheet.isGrouped));
    sheet.draw();
  }}, 'Own types first');
  if (ownTypes.size > 0 && ownTypes.size < typeRows.length) filter.field.after(ownButton);
  sheet.foot.append(footOf(columns.length));
  return make('div', {},
    make('p', {class: 'lead'}, report.has_edges
      ? 'Bytes are those of the objects themselves; retained is what would be freed with them.'
      : 'Bytes are those of the objects themselves. This source has no references.'),
    filter.element, sheet.element);
}

function footOf(columns) {
  const {types, objects, bytes} = report.left_out;
  const blank = (number) => Array.from({length: number}, () => make('td'));
  const left = guesses.size > 0 ? 1 : 0;  // the column of guesses
  const lines = [];
  if (types > 0) {
    lines.push(make('tr', {}, make('th', {scope: 'row'}, `${counted(types, 'smaller type')}, not listed`),
      ...blank(left), make('td', {}, count(objects)), make('td', {}, sizeText(bytes)), ...blank(columns - 3 - left)));
  }
  lines.push(make('tr', {}, make('th', {scope: 'row'}, 'All live objects'),
    ...blank(left), make('td', {}, count(report.totals.objects)), make('td', {}, sizeText(liveBytes)),
    ...blank(columns - 3 - left)));
  const all = document.createDocumentFragment();
  all.append(...lines);
  return all;
}
