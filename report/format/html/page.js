
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

/** What is in use and not live. What malloc's heap leaked is apart from malloc's own headers. */
function unreachableCards(totals, inUse) {
  const {leaked_bytes: leaked, overhead_bytes: overhead} = totals;
  const rest = totals.unreachable_bytes - (leaked || 0) - (overhead || 0);
  const cards = [];
  if (leaked !== undefined) {
    cards.push(card('Leaked', sizeText(leaked), `${sizeText(overhead)} more are malloc's headers`));
  }
  if (leaked === undefined || rest > 0) {
    cards.push(card('Not reachable', sizeText(rest), `${percent(rest, inUse)} of the rest`));
  }
  return cards;
}

function heapCards() {
  const {totals} = report;
  const cards = [
    card('Live', sizeText(totals.bytes), counted(totals.objects, 'object')),
  ];
  if (totals.heap_bytes !== undefined) {
    const inUse = totals.heap_bytes - (totals.free_bytes || 0);
    cards.push(card('Heap', sizeText(totals.heap_bytes), `${percent(totals.bytes, totals.heap_bytes)} live`),
      card('Free', sizeText(totals.free_bytes || 0), `${percent(totals.free_bytes || 0, totals.heap_bytes)} of heap`),
      ...unreachableCards(totals, inUse));
  }
  cards.push(card('Types', count(typeCount + report.left_out.types), `${percent(totals.typed_bytes, totals.bytes)} known`));
  return cards;
}

function traceCards() {
  const {bytes, allocations, inUseBytes, inUse} = tracedTotal;
  return [
    card('Allocated', sizeText(bytes), `${rateOf(bytes)} for ${tracedSeconds.toFixed(1)} s`),
    card('Allocations', count(allocations), traced.every > 1 ? `from ${counted(traced.samples, 'sample')}` : 'all recorded'),
    card('Still in use', make('span', {}, sizeText(inUseBytes), tooHigh.length > 0 ? '*' : ''),
      hasHeap ? `${percent(inUseBytes, bytes)} of it` : `${counted(inUse, 'object')}, ${percent(inUseBytes, bytes)} of the bytes`),
  ];
}

function remark(text) {
  byId('warnings').append(make('p', {class: 'remark'}, brief(text, 1200)));
}

function warnOfTrace() {
  if (!traced.complete) remark(`The trace ended early: ${traced.reason}`);
  if (traced.drops > 0) remark(`${counted(traced.drops, 'sample')} lost, so the amounts of the trace are too small.`);
  traced.warnings.filter((text) => !tooHigh.includes(text)).forEach(remark);
}

function fillHead() {
  const {process} = report;
  const kind = isList ? 'Several processes' : report.difference ? 'Growth report' : hasHeap ? 'Heap report' : traced ? 'Allocation report' : 'Stack report';
  byId('kind').textContent = kind;
  document.title = `${programName} (${process.pid}): ${kind.toLowerCase()}`;
  byId('title').textContent = `${brief(programName)} · process ${process.pid}`;
  if (isList) fillListHead();
  if (shownPage) byId('title').before(make('p', {class: 'up'}, make('a', {class: 'link', href: '#'}, 'All processes')));
  const how = {freeze: 'frozen and copied', clone: 'read from a clone', read: 'read while it ran',
    routine: 'dumped by itself', core: 'from a core file', trace: 'traced'}[process.source] || process.source;
  const pause = process.pause_ms === undefined ? '' : `, stopped for ${process.pause_ms.toFixed(1)} ms`;
  byId('origin').textContent = [process.exe, serviceName && `service ${serviceName}`, process.host, timeText(process.captured), how && `${how}${pause}`, process.how, process.collector]
    .filter(Boolean).map((text) => brief(text)).join('  ·  ');
  byId('origin').title = resource.map(([name, value]) => `${name}: ${value}`).join('\n');
  const cards = [...(report.difference ? growthCards() : []), ...(hasHeap ? heapCards() : []), ...(traced ? traceCards() : [])];
  byId('totals').append(...cards);
  // For a narrow screen: two lines of about the same length.
  byId('totals').style.setProperty('--cards', cards.length);
  byId('totals').style.setProperty('--in-a-row', cards.length <= 4 ? cards.length : Math.ceil(cards.length / 2));
  if (!report.complete && !isList) {
    remark(`Only a part of the heap could be read: ${report.reason}`);
  }
  if (traced) warnOfTrace();
  byId('made').textContent = `Made by ${report.tool}. All of its data is in this file; it loads nothing.`;
}

function addHeapViews() {
  if (report.difference) views.add('growth', 'Growth', growthView);
  views.add('overview', 'Overview', overview);
  views.add('types', 'Types', typesView, typeCount + report.left_out.types);
  if (report.has_edges) {
    views.add('treemap', 'Treemap', treemapView);
    views.add('flame', 'Flame graph', flameView);
    views.add('suspects', 'Suspects', suspectsView, suspectCount());
  }
}

function addTraceViews() {
  views.add('allocations', 'Allocations', allocationsView, sites.length + traced.left_out.sites);
  views.add('makers', 'Allocation flame graph', tracedFlameView);
}

function fillListHead() {
  const all = pages.length + whole.failed.length;
  byId('title').textContent = (all === 1 ? '1 process' : `${count(all)} processes`);
  document.title = byId('title').textContent;
}

function addStacks() {
  const amount = (report.threads_in_all || 0) + (report.fibers_in_all || 0);
  if (amount > 0) views.add('stacks', 'Stacks', stacksView, amount);
}

fillHead();
if (isList) views.add('processes', 'Processes', processesView, pages.length);
if (hasHeap) addHeapViews();
addStacks();
if (traced) addTraceViews();
document.querySelector('.tabs').hidden = views.all.length < 2;
byId('tabs').addEventListener('keydown', (event) => views.key(event));
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && details.current !== null) details.close();
});
// On paper all views are one below the other.
window.addEventListener('beforeprint', () => views.all.forEach((view) => {
  views.build(view);
  if (view.panel.hidden) view.view?.redraw();
}));
window.addEventListener('popstate', () => (address.isElsewhere() ? location.reload() : address.read()));
if (!address.read()) {
  address.isReading = true;
  views.show(views.all[0].id);
  address.isReading = false;
}
