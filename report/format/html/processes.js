
// A page of several processes begins with a list of them; each has all views of its own.

/** Whether the list is shown, and no process. */
const isList = whole.pages !== undefined && !shownPage;

/** A proved fault, or what of the page is missing, or what retains most. */
function foundIn({findings = [], complete, reason, suspects}) {
  if (findings.length > 0) return make('span', {class: 'grown'}, brief(findings[0], 300));
  if (complete === false) return make('span', {class: 'grown'}, `only a part could be read: ${brief(reason || '', 200)}`);
  const holder = suspects?.small ? '' : suspects?.found?.[0]?.sentence ?? '';
  return make('span', {class: 'soft'}, brief(humanized(holder), 200));
}

function processRow(page) {
  const {process, totals, has_heap: hasOne = true} = page;
  return {
    page, name: `${(process.exe || '').split('/').pop() || 'process'}`, pid: process.pid,
    live: hasOne ? totals.bytes : 0, objects: hasOne ? totals.objects : 0, heap: totals.heap_bytes ?? 0,
    leaked: totals.leaked_bytes ?? 0, threads: page.threads_in_all ?? 0, fibers: page.fibers_in_all ?? 0,
  };
}

function failedList() {
  if (whole.failed.length === 0) return null;
  return make('div', {}, make('h3', {class: 'section'}, 'Without a report'),
    make('ul', {class: 'compared'}, ...whole.failed.map(({pid, name, why}) => make('li', {},
      make('span', {class: 'name'}, `${brief(name) || 'process'} ${pid}`), make('span', {class: 'soft'}, ` ${why}`)))));
}

function processesView() {
  const rows = pages.map(processRow);
  const has = (key) => rows.some((row) => row[key] > 0);
  const figure = (key, label, cell) => (has(key) ? [{key, label, value: (row) => row[key],
    cell: (row) => (row[key] > 0 ? cell(row[key]) : make('span', {class: 'soft'}, '–'))}] : []);
  const sum = rows.reduce((before, row) => before + row.live, 0);
  const columns = [
    {key: 'name', label: 'Process', ascending: true, value: (row) => row.name, cell: (row) => (
      make('a', {class: 'name link', href: `#${row.pid}`}, `${brief(row.name, 80)} ${row.pid}`))},
    {key: 'found', label: 'What was found', class: 'words', value: (row) => (row.page.findings?.length ?? 0), cell: (row) => foundIn(row.page)},
    ...figure('live', 'Live', sizeText),
    ...(sum > 0 ? [{key: 'share', label: 'of all', class: 'share', value: (row) => row.live, cell: (row) => shareBar(row.live, sum)}] : []),
    ...figure('objects', 'Objects', count),
    ...figure('heap', 'Heap', sizeText),
    ...figure('leaked', 'Leaked', sizeText),
    ...figure('threads', 'Threads', count),
    ...figure('fibers', 'Fibers', count),
  ];
  const sheet = new Sheet({caption: 'Processes', columns, rows, sort: sum > 0 ? 'live' : 'threads', classes: 'wide',
    group: (row) => (row.page.findings?.length > 0 ? 0 : 1)});
  return make('div', {}, sheet.element, failedList());
}
