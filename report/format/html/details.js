
// The panel next to the views: details of one type, of a root's location, or of one object. Names
// in it are links, with a way back. It takes no room while it is empty.

const mostLines = 12;

const details = {
  current: null,  // the number of a name
  object: null,   // the address of the inspected object of that type
  before: [],     // earlier entries: [name, object]
  onchange: null,

  /** Shows a name's details. `quiet`: not if the panel would cover the present view. */
  open(number, {quiet = false, back = false, object = null} = {}) {
    const panel = byId('details');
    const covers = window.matchMedia('(max-width: 1079px)').matches;
    if (quiet && covers) return;
    if (!panel.contains(document.activeElement)) this.opener = document.activeElement;
    const isOther = this.current !== number || this.object !== object;
    if (!back && this.current !== null && isOther) this.before.push([this.current, this.object]);
    this.current = number;
    this.object = object;
    this.fill(panel, number);
    panel.classList.add('open');
    panel.scrollTop = 0;
    this.onchange?.();
    address.write();
    if (!quiet) panel.querySelector('h2').focus();
  },

  close() {
    this.current = null;
    this.object = null;
    this.before = [];
    byId('details').classList.remove('open');
    byId('details').replaceChildren();
    this.onchange?.();
    address.write();
    const opener = this.opener?.isConnected ? this.opener : byId('main');
    opener.focus();
  },

  fill(panel, number) {
    const back = this.before.at(-1);
    panel.replaceChildren(
      make('div', {class: 'bar'},
        back === undefined ? null : make('button', {class: 'link', type: 'button', onclick: () => {
          this.before.pop();
          this.open(back[0], {back: true, object: back[1]});
        }}, 'Back'),
        make('button', {class: 'link', type: 'button', onclick: () => this.close()}, 'Close')),
      make('h2', {tabindex: '-1'}, nameOf(number)),
      ...(this.object ? objectPart(objectAt(this.object)) : this.partsOf(number)));
  },

  partsOf(number) {
    return [
      isType(number) ? figuresOf(typeRows[number]) : placeFigures(number),
      ...(isType(number) ? waysPart(number) : []),
      ...makersPart(number),
      ...linksPart(number),
      ...picturesPart(number),
      ...objectsPart(number),
    ];
  },
};

function figures(pairs) {
  return make('dl', {class: 'figures'},
    ...pairs.flatMap(([term, text]) => [make('dt', {}, term), make('dd', {}, text)]));
}

function figuresOf({number, objects, bytes, retained}) {
  const pairs = [
    ['Objects', count(objects)],
    ['Bytes', `${size(bytes)} (${percent(bytes, liveBytes)})`],
    ['Each, on average', size(Math.round(bytes / Math.max(1, objects)))],
  ];
  if (guesses.has(number)) pairs.unshift(['A guess', guesses.get(number)]);
  if (report.has_edges) pairs.push(['Retained', `${size(retained)} (${percent(retained, liveBytes)})`]);
  return figures(pairs);
}

function placeFigures(number) {
  if (placesOf(number).length === 0) return '';  // of a type without live objects
  const sum = placesOf(number).reduce((before, node) => before + node.retained, 0);
  return figures([['Holds', `${size(sum)} (${percent(sum, tree[0].retained)})`]]);
}

/** The steps of a path, each a link to the details of its type. */
function stepsOf(steps) {
  const step = (edge, number, more, name) => make('li', {}, edge,
    ...(number === null ? [] : [' → ', nameButton(number)]),
    name ? ` "${brief(name)}"` : null,
    more ? make('span', {class: 'soft'}, ' ', more.startsWith('0x') ? objectButton(more) : more) : null);
  const [[root, ...first], ...others] = steps;
  return make('ol', {class: 'steps'}, make('li', {}, brief(root)), step('', ...first),
    ...others.map(([edge, ...rest]) => step(make('span', {class: 'edge'}, brief(edge)), ...rest)));
}

function waysPart(number) {
  if (!report.has_edges) return [];
  const ways = waysTo(number);
  const all = typeRows[number].objects;
  const told = ways.reduce((sum, way) => sum + way.objects, 0);
  const title = make('h3', {}, 'What holds them: the shortest paths from roots');
  if (ways.length === 0) {
    return [title, make('p', {class: 'soft'}, 'No path from a root is known.')];
  }
  const list = make('ol', {}, ...ways.map((way) => make('li', {class: 'way'},
    make('p', {}, `${count(way.objects)} of ${counted(all, 'object')}`), shareBar(way.objects, all),
    stepsOf(way.steps), make('p', {class: 'soft'}, 'for instance ', objectButton(way.address)))));
  const left = all - told;
  return [title, list,
    left > 0 ? make('p', {class: 'soft'}, `${counted(left, 'object')} in other ways`) : null,
    make('code', {class: 'command'}, `heapattach --why ${ways[0].address} ${report.process.pid}`)]
    .filter((part) => part !== null);
}

function linkTable(caption, head, rows, pick) {
  if (rows.length === 0) return [];
  const line = (row) => make('tr', {}, make('th', {scope: 'row'}, nameButton(pick(row))),
    make('td', {}, count(row.objects)), make('td', {}, sizeText(row.retained)));
  const column = (text) => make('th', {scope: 'col'}, text);
  const left = rows.length - Math.min(rows.length, mostLines);
  return [make('h3', {}, caption), make('table', {}, make('caption', {class: 'unseen'}, caption),
    make('thead', {}, make('tr', {}, column(head), column('Objects'), column('Retained'))),
    make('tbody', {}, ...rows.slice(0, mostLines).map(line))),
  ...(left > 0 ? [make('p', {class: 'soft'}, `and ${count(left)} more`)] : [])];
}

function linksPart(number) {
  const {holders, held} = linksOf(number);
  return [
    ...linkTable('Held by: without these they would be freed', 'Holder', holders, (row) => row.holder),
    ...linkTable('Holds: this would be freed with them', 'Held', held, (row) => row.held)];
}

function picturesPart(number) {
  const [place] = placesOf(number);
  if (!place) return [];
  const show = (tab) => () => views.show(tab, place);
  return [make('h3', {}, 'Where most of it is'),
    make('p', {class: 'tools buttons'},
      make('button', {class: 'button', type: 'button', onclick: show('treemap')}, 'Show in the treemap'),
      make('button', {class: 'button', type: 'button', onclick: show('flame')}, 'Show in the flame graph'))];
}

/** References as lines: through which field, to which object. */
function referenceTable(caption, head, rows, inAll) {
  if (rows.length === 0) return [];
  const line = ([what, text, number]) => make('tr', {},
    make('th', {scope: 'row'}, make('span', {class: 'name'}, brief(what))),
    make('td', {class: 'to'}, objectButton(text), ' ', number === null ? '' : nameButton(number)));
  const column = (text) => make('th', {scope: 'col'}, text);
  return [make('h3', {}, caption), make('table', {}, make('caption', {class: 'unseen'}, caption),
    make('thead', {}, make('tr', {}, column('Field'), column(head))), make('tbody', {}, ...rows.map(line))),
  ...(inAll > rows.length ? [make('p', {class: 'soft'}, `and ${count(inAll - rows.length)} more`)] : [])];
}

/** The contents of one object, and what references it. */
function objectPart({address: text, type, bytes, retained, fields, fields_in_all: inAll, values = [], roots,
  referrers, referrers_in_all: referrersInAll}) {
  return [
    make('p', {class: 'name'}, `at ${text}`),
    figures([['Bytes', size(bytes)], ['Retained', `${size(retained)} (${percent(retained, liveBytes)})`]]),
    ...(values.length === 0 ? [] : [make('h3', {}, 'Values'), make('dl', {class: 'figures values'},
      ...values.flatMap(([name, value]) => [make('dt', {class: 'name'}, name || 'text'), make('dd', {}, brief(value, 500))]))]),
    ...referenceTable('Fields', 'References', fields, inAll),
    ...(roots.length === 0 ? [] : [make('h3', {}, 'Referenced by roots'),
      make('ul', {}, ...roots.map((root) => make('li', {}, brief(root))))]),
    ...referenceTable('Referenced by', 'Of', referrers, referrersInAll),
    make('p', {class: 'tools buttons'}, make('button', {class: 'button', type: 'button',
      onclick: () => details.open(type)}, 'All of this type')),
    make('code', {class: 'command'}, `heapattach --why ${text} ${report.process.pid}`)];
}

/** Objects of a type that can be inspected, those that retain most first. */
function objectsPart(number) {
  const found = report.objects.filter((object) => object.type === number)
    .sort((a, b) => b.retained - a.retained).slice(0, mostLines);
  if (found.length === 0) return [];
  return [make('h3', {}, 'Look into one'), make('table', {}, make('caption', {class: 'unseen'}, 'Objects'),
    make('thead', {}, make('tr', {}, make('th', {scope: 'col'}, 'Object'), make('th', {scope: 'col'}, 'Retained'))),
    make('tbody', {}, ...found.map((object) => make('tr', {},
      make('th', {scope: 'row'}, objectButton(object.address)), make('td', {}, sizeText(object.retained))))))];
}
