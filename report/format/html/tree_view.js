
// Shared by treemap and flame graph: zooming into a node and back, keys, and a line about the item
// under the pointer. For assistive technology the items are a tree, nested like the nodes.

/** The tree of the heap, as a TreeView needs it. */
const heapWorld = {
  root: tree[0],
  label: labelOf,
  /** The node and those above it, the whole first. */
  line: lineOf,
  above: (node) => tree[node.parent],
  /** Of its colour; undefined: grey. */
  hue: (node) => (node.index === 0 || !isType(node.name) ? undefined : hueOf(nameOf(node.name))),
  /** The figure in the label of a node. */
  amount: (node) => size(node.retained),
  /** What comes after the label in a sentence about a node. */
  describe(node) {
    const own = node.objects === 0 ? '' : `; ${counted(node.objects, 'object')} of ${size(node.bytes)} here`;
    return `: ${size(node.retained)}, ${percent(node.retained, tree[0].retained)} of all${own}`;
  },
  open: (node, how) => { if (node.index > 0) details.open(node.name, how); },
};

class TreeView {
  /** `draw(view)` puts the items below view.zoomed into view.picture, by view.item(). */
  constructor({name, picture, draw, world = heapWorld}) {
    this.draw = draw;
    this.world = world;
    this.zoomed = world.root;
    this.nodes = new Map();  // by element
    this.crumbs = make('ol', {class: 'crumbs'});
    this.pointed = make('p', {class: 'pointed', 'aria-hidden': 'true'});
    this.picture = picture;
    picture.setAttribute('role', 'tree');
    picture.setAttribute('aria-label', name);
    picture.addEventListener('keydown', (event) => this.key(event));
    picture.addEventListener('pointerover', (event) => this.point(this.nodeAt(event.target)));
    picture.addEventListener('pointerleave', () => this.point());
    picture.addEventListener('focusin', (event) => this.point(this.nodeAt(event.target)));
    picture.addEventListener('click', (event) => {
      const node = this.nodeAt(event.target);
      if (node) this.zoom(node);
    });
    this.element = make('div', {},
      make('nav', {'aria-label': `${name}: the way to what is shown`}, this.crumbs),
      picture, this.pointed,
      make('p', {class: 'keys'}, 'Click to look closer. ', make('kbd', {}, '↑'), ' ',
        make('kbd', {}, '↓'), ' ', make('kbd', {}, '←'), ' ', make('kbd', {}, '→'), ' move, ',
        make('kbd', {}, 'Enter'), ' zooms in, ', make('kbd', {}, 'Backspace'), ' out, ',
        make('kbd', {}, 'Space'), ' shows details.'));
  }

  nodeAt(target) {
    return this.nodes.get(target.closest?.('[role="treeitem"]'));
  }

  describe(node) {
    return this.world.label(node) + this.world.describe(node);
  }

  /** Describes a node; the shown one without its name, which is above the picture. */
  point(node) {
    if (node) {
      this.pointed.replaceChildren(make('span', {class: 'name'}, brief(this.world.label(node), 400)),
        this.world.describe(node));
    } else {
      this.pointed.replaceChildren(this.world.describe(this.zoomed).replace(/^: /, ''));
    }
  }

  /** The element of a node, with its label; its children go into the result of group(). */
  item(node, {classes, level, style = {}}) {
    const hue = this.world.hue(node);
    const element = make('div', {
      role: 'treeitem', tabindex: '-1', 'aria-level': level, 'aria-label': brief(this.describe(node), 400),
      class: hue === undefined ? `${classes} plain` : classes,
      style: hue === undefined ? style : {...style, '--hue': hue},
    });
    this.nodes.set(element, node);
    return element;
  }

  group(element) {
    const group = make('div', {class: 'group', role: 'group'});
    element.append(group);
    return group;
  }

  zoom(node, {quiet = false} = {}) {
    this.zoomed = node;
    this.redraw();
    this.items()[0]?.focus({preventScroll: true});
    if (quiet) return;
    announce(`Shown: ${brief(this.describe(node), 400)}`);
    this.world.open(node, {quiet: true});
  }

  redraw() {
    this.nodes.clear();
    this.picture.replaceChildren();
    this.draw(this);
    const first = this.items()[0];
    if (first) first.tabIndex = 0;
    const line = this.world.line(this.zoomed);
    this.crumbs.replaceChildren(...line.map((node) => make('li', {},
      make('button', {
        class: 'name', type: 'button', onclick: () => this.zoom(node),
        'aria-current': node === this.zoomed ? 'true' : undefined,
      }, node === this.world.root ? 'All' : brief(this.world.label(node), 200)))));
    this.point();
  }

  items() {
    return [...this.picture.querySelectorAll('[role="treeitem"]')];
  }

  focus(element) {
    if (!element) return;
    for (const item of this.items()) item.tabIndex = item === element ? 0 : -1;
    element.focus();
  }

  key(event) {
    const item = event.target.closest('[role="treeitem"]');
    const node = this.nodes.get(item);
    if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
    const items = this.items();
    const at = items.indexOf(item);
    const moves = {
      ArrowDown: () => this.focus(items[at + 1]),
      ArrowUp: () => this.focus(items[at - 1]),
      ArrowRight: () => this.focus(item.querySelector('[role="treeitem"]')),
      ArrowLeft: () => this.focus(item.parentElement.closest('[role="treeitem"]')),
      Home: () => this.focus(items[0]),
      End: () => this.focus(items.at(-1)),
      Enter: () => this.zoom(node),
      Backspace: () => this.zoom(this.world.above(this.zoomed)),
      ' ': () => this.world.open(node),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  }
}
