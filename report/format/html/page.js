
// The page itself: its head, its tabs, and what happens when it opens.

const views = {
  all: [],  // {id, label, count, build(), panel, tab, view}
  shown: null,

  add(id, label, build, amount) {
    const tab = make('button', {
      type: 'button', role: 'tab', id: `tab-${id}`, class: 'tab', 'aria-controls': `view-${id}`,
      'aria-selected': 'false', tabindex: '-1', onclick: () => this.show(id),
    }, label, amount === undefined ? null : make('span', {class: 'count'}, count(amount)));
    const panel = make('section', {
      role: 'tabpanel', id: `view-${id}`, class: 'view', 'aria-labelledby': `tab-${id}`, tabindex: '-1',
      hidden: true,
    }, make('h2', {}, label));
    this.all.push({id, build, panel, tab});
    byId('tabs').append(tab);
    byId('main').append(panel);
  },

  /** Shows a view; one with a picture, at a node of the tree if one is given. */
  show(id, node) {
    const next = this.all.find((view) => view.id === id) || this.all[0];
    for (const {panel, tab} of this.all) {
      const isNext = panel === next.panel;
      panel.hidden = !isNext;
      tab.setAttribute('aria-selected', String(isNext));
      tab.tabIndex = isNext ? 0 : -1;
    }
    this.shown = next;
    this.build(next);
    if (node) next.view.zoom(node, {quiet: true});
    else next.view?.redraw();
    address.write();
  },

  build(one) {
    if (one.built) return;
    one.built = true;
    const made = one.build();
    one.view = made instanceof TreeView ? made : undefined;
    one.panel.append(made.element ?? made);
  },

  key(event) {
    const at = this.all.indexOf(this.shown);
    const last = this.all.length - 1;
    const to = {ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0,
      End: last}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.show(this.all[to].id);
    this.all[to].tab.focus();
  },
};

function card(term, figure, ...beside) {
  return make('div', {class: 'card'}, make('dt', {}, term), make('dd', {class: 'figure'}, figure),
    ...beside.filter(Boolean).map((text) => make('dd', {class: 'beside'}, text)));
}

function heapCards() {
  const {totals} = report;
  const cards = [
    card('Alive', size(totals.bytes), `${count(totals.bytes)} bytes`),
    card('Objects', count(totals.objects), counted(typeCount + report.left_out.types, 'type')),
  ];
  if (totals.heap_bytes !== undefined) {
    const inUse = totals.heap_bytes - (totals.free_bytes || 0);
    cards.push(card('Heap', size(totals.heap_bytes), `${percent(totals.bytes, totals.heap_bytes)} of it alive`),
      card('Free blocks', size(totals.free_bytes || 0), `${percent(totals.free_bytes || 0, totals.heap_bytes)} of the heap`),
      card('Not reachable, unused', size(totals.unreachable_bytes), `${percent(totals.unreachable_bytes, inUse)} of blocks in use`));
  }
  cards.push(card('Type known', percent(totals.typed_bytes, totals.bytes), 'of the bytes alive'));
  return cards;
}

function traceCards() {
  const {bytes, allocations, inUseBytes, inUse} = tracedTotal;
  return [
    card('Allocated', size(bytes), `${rateOf(bytes)} for ${tracedSeconds.toFixed(1)} s`),
    card('Allocations', count(allocations), traced.every > 1 ? `from ${counted(traced.samples, 'sample')}` : 'all recorded'),
    card('Of these in use', size(inUseBytes), `${counted(inUse, 'object')}, ${percent(inUseBytes, bytes)} of the bytes`),
  ];
}

function remark(text) {
  byId('warnings').append(make('p', {class: 'remark'}, brief(text, 1200)));
}

function warnOfTrace() {
  if (!traced.complete) remark(`The trace ended early: ${traced.reason}`);
  if (traced.drops > 0) remark(`${counted(traced.drops, 'sample')} lost, so the amounts of the trace are too small.`);
  traced.warnings.forEach(remark);
}

function fillHead() {
  const {process} = report;
  const kind = hasHeap ? 'Heap report' : 'Allocation report';
  byId('kind').textContent = kind;
  document.title = `${programName} (${process.pid}): ${kind.toLowerCase()}`;
  byId('title').textContent = `${brief(programName)} · process ${process.pid}`;
  const how = {freeze: 'frozen and copied', clone: 'read from a clone', read: 'read while it ran',
    routine: 'dumped by itself', core: 'from a core file', trace: 'traced'}[process.source] || process.source;
  const pause = process.pause_ms === undefined ? '' : `, stopped for ${process.pause_ms.toFixed(1)} ms`;
  const taken = process.captured && process.captured.replace('T', ' ').replace(/\.\d+Z$|Z$/, ' UTC');
  byId('origin').textContent = [process.exe, process.host, taken, how && `${how}${pause}`, process.collector]
    .filter(Boolean).map((text) => brief(text)).join('  ·  ');
  byId('totals').append(...(hasHeap ? heapCards() : []), ...(traced ? traceCards() : []));
  if (!report.complete) {
    remark(`Only a part of the heap could be read: ${report.reason}`);
  }
  if (traced) warnOfTrace();
  byId('made').textContent = `Made by ${report.tool}. All of its data is in this file; it loads nothing.`;
}

function addHeapViews() {
  views.add('overview', 'Overview', overview);
  views.add('types', 'Types', typesView, typeCount + report.left_out.types);
  if (report.has_edges) {
    views.add('treemap', 'Treemap', treemapView);
    views.add('flame', 'Flame graph', flameView);
    views.add('suspects', 'Suspects', suspectsView, suspectCount());
  }
  if (report.threads.length + report.fibers.length > 0) {
    views.add('stacks', 'Stacks', stacksView, report.threads_in_all + report.fibers_in_all);
  }
  if (report.difference) views.add('differences', 'Differences', differencesView);
}

function addTraceViews() {
  views.add('allocations', 'Allocations', allocationsView, sites.length + traced.left_out.sites);
  views.add('makers', 'Allocation flame graph', tracedFlameView);
}

fillHead();
if (hasHeap) addHeapViews();
if (traced) addTraceViews();
byId('tabs').addEventListener('keydown', (event) => views.key(event));
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && details.current !== null) details.close();
});
// On paper all views are one below the other.
window.addEventListener('beforeprint', () => views.all.forEach((view) => {
  views.build(view);
  if (view.panel.hidden) view.view?.redraw();
}));
window.addEventListener('popstate', () => address.read());
if (!address.read()) {
  address.isReading = true;
  views.show('overview');
  address.isReading = false;
}
