
// The first view: the answers, without a click. Each part links to the view with all of it.

const shownTypes = 12;

/** Proved faults of the threads and fibers. */
function findingsPart() {
  return (report.findings || []).map((text) => make('p', {class: 'finding'}, brief(text, 1200)));
}

function linkTo(id, text) {
  return make('p', {class: 'on'}, make('button', {class: 'link', type: 'button', onclick: () => views.show(id)}, text));
}

function topSuspects() {
  if (!report.has_edges) return [];
  const {found} = report.suspects;
  if (found.length === 0) return [make('p', {class: 'lead'}, 'No single object retains a tenth of the live bytes.')];
  const others = suspectCount() - 1;
  return [...(report.suspects.small ? [make('h3', {class: 'section'}, 'What retains most')] : []), suspectPart(found[0]),
    others === 0 ? null : linkTo('suspects', `${counted(others, 'other place')} with a tenth or more`)];
}

function largestTypes() {
  const key = report.has_edges ? 'retained' : 'bytes';
  const rows = typeRows.filter((row) => row.isReachable);
  const columns = [
    {key: 'name', label: 'Type', ascending: true, value: (row) => row.name, cell: (row) => nameButton(row.number)},
    {key: 'objects', label: 'Objects', value: (row) => row.objects, cell: (row) => count(row.objects)},
    {key, label: key === 'bytes' ? 'Bytes' : 'Retained', value: (row) => row[key], cell: (row) => sizeText(row[key])},
    {key: 'share', label: 'of all', class: 'share', value: (row) => row[key], cell: (row) => shareBar(row[key], liveBytes)},
  ];
  const sheet = new Sheet({caption: 'Largest types', columns, rows, sort: key, classes: 'wide',
    shown: shownTypes, canGrow: false});
  return [make('h3', {class: 'section'}, key === 'bytes' ? 'Largest types' : 'Types that retain most'),
    sheet.element, linkTo('types', `All ${counted(typeCount + report.left_out.types, 'type')}`)];
}

function overview() {
  const answers = [...findingsPart(), ...tracedAnswers()];
  // Of a small heap, a large part is nothing unusual.
  const parts = report.suspects?.small ? [...answers, ...smallHeapPart(), ...largestTypes(), ...topSuspects()]
    : [...answers, ...topSuspects(), ...largestTypes()];
  return make('div', {class: 'overview'}, ...parts.filter(Boolean));
}
