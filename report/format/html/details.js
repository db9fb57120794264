
// The panel beside the views: what is known of one type, or of a place that holds things. What
// is named in it leads on, and back.

const mostLines = 12;

const details = {
  current: null,
  before: [],     // what was looked at before
  onchange: null,

  /** Shows a name's details. `quiet`: not where the panel would cover what is worked with. */
  open(number, {quiet = false, back = false} = {}) {
    const panel = byId('details');
    const covers = window.matchMedia('(max-width: 1079px)').matches;
    if (quiet && covers) return;
    if (!panel.contains(document.activeElement)) this.opener = document.activeElement;
    if (!back && this.current !== null && this.current !== number) this.before.push(this.current);
    this.current = number;
    this.fill(panel, number);
    panel.classList.add('open');
    panel.scrollTop = 0;
    this.onchange?.();
    if (!quiet) panel.querySelector('h2').focus();
  },

  close() {
    this.current = null;
    this.before = [];
    byId('details').classList.remove('open');
    this.fillEmpty();
    this.onchange?.();
    const opener = this.opener?.isConnected ? this.opener : byId('main');
    opener.focus();
  },

  fillEmpty() {
    byId('details').replaceChildren(
      make('h2', {class: 'prose'}, 'Details'),
      make('p', {class: 'soft'}, 'Choose a type in any view to see how much there is of it, what keeps '
        + 'it alive and what it holds.'));
  },

  fill(panel, number) {
    const back = this.before.at(-1);
    panel.replaceChildren(
      make('div', {class: 'bar'},
        back === undefined ? null : make('button', {class: 'link', type: 'button', onclick: () => {
          this.before.pop();
          this.open(back, {back: true});
        }}, 'Back'),
        make('button', {class: 'link', type: 'button', onclick: () => this.close()}, 'Close')),
      make('h2', {tabindex: '-1'}, nameOf(number)),
      isType(number) ? figuresOf(typeRows[number]) : placeFigures(number),
      ...(isType(number) ? waysPart(number) : []),
      ...linksPart(number),
      ...picturesPart(number));
  },
};

function figures(pairs) {
  return make('dl', {class: 'figures'},
    ...pairs.flatMap(([term, text]) => [make('dt', {}, term), make('dd', {}, text)]));
}

function figuresOf({objects, bytes, retained}) {
  const pairs = [
    ['Objects', count(objects)],
    ['Bytes', `${size(bytes)} (${percent(bytes, liveBytes)})`],
    ['Each, on average', size(Math.round(bytes / Math.max(1, objects)))],
  ];
  if (report.has_edges) pairs.push(['Retained', `${size(retained)} (${percent(retained, liveBytes)})`]);
  return figures(pairs);
}

function placeFigures(number) {
  const sum = placesOf(number).reduce((before, node) => before + node.retained, 0);
  return figures([['Holds', `${size(sum)} (${percent(sum, tree[0].retained)})`]]);
}

/** The steps of a way, each of which leads to the details of the type that it comes to. */
function stepsOf(steps) {
  const step = (edge, number, more) => make('li', {}, edge,
    ...(number === null ? [] : [' → ', nameButton(number)]),
    more ? make('span', {class: 'soft'}, ` ${more}`) : null);
  const [[root, first, more], ...others] = steps;
  return make('ol', {class: 'steps'}, make('li', {}, brief(root)), step('', first, more),
    ...others.map(([edge, ...rest]) => step(make('span', {class: 'edge'}, brief(edge)), ...rest)));
}

function waysPart(number) {
  if (!report.has_edges) return [];
  const ways = waysTo(number);
  const all = typeRows[number].objects;
  const told = ways.reduce((sum, way) => sum + way.objects, 0);
  const title = make('h3', {}, 'What keeps them alive: the shortest ways from roots');
  if (ways.length === 0) {
    return [title, make('p', {class: 'soft'}, 'No way from a root is known.')];
  }
  const list = make('ol', {}, ...ways.map((way) => make('li', {class: 'way'},
    make('p', {}, `${count(way.objects)} of ${counted(all, 'object')}`), shareBar(way.objects, all),
    stepsOf(way.steps), make('p', {class: 'soft'}, 'for instance ', make('span', {class: 'name'}, way.address)))));
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
    ...linkTable('Held by: without these they would go', 'Holder', holders, (row) => row.holder),
    ...linkTable('Holds: this would go with them', 'Held', held, (row) => row.held)];
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
