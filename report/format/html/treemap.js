
// The tree as nested areas: squarified (M. Bruls, K. Huizing, J. van Wijk, 2000), a few levels at a
// time, as deep as there is room for labels.

/** Lays `items` with a positive `weight` out in a box; calls place(item, left, top, width, height). */
function squarify(items, box, place) {
  let {left, top, width, height} = box;
  let total = items.reduce((sum, item) => sum + item.weight, 0);
  let at = 0;
  while (at < items.length && width > 0 && height > 0 && total > 0) {
    const scale = (width * height) / total;
    const side = Math.min(width, height);
    // Adds tiles to a row as long as that makes them more square.
    let sum = 0;
    let end = at;
    let worst = Infinity;
    while (end < items.length) {
      const next = sum + items[end].weight;
      const area = next * scale;
      const ratio = (weight) => Math.max((side * side * weight * scale) / (area * area),
        (area * area) / (side * side * weight * scale));
      const now = Math.max(ratio(items[at].weight), ratio(items[end].weight));
      if (now > worst) break;
      worst = now;
      sum = next;
      ++end;
    }
    const depth = (sum * scale) / side;
    let along = 0;
    for (; at < end; ++at) {
      const length = (items[at].weight / sum) * side;
      if (width >= height) place(items[at].item, left, top + along, depth, length);
      else place(items[at].item, left + along, top, length, depth);
      along += length;
    }
    total -= sum;
    if (width >= height) [left, width] = [left + depth, width - depth];
    else [top, height] = [top + depth, height - depth];
  }
}

const rest = Symbol('what is too small to show');
const treemapDepth = 16;
const roomBelow = 52;    // pixels for the line about the tile under the pointer
const smallestTile = 5;  // pixels of its shorter side
const labelHeight = 18;
const mostTiles = 1500;
const widthForSize = 130;  // of a label with a size


/** Draws what is below a node into its group, of the given size in pixels. */
function drawTiles(view, node, group, width, height, level) {
  const items = node.children.map((child) => ({item: child, weight: child.retained}));
  if (node.rest > 0) items.push({item: rest, weight: node.rest});
  if (node.bytes > 0 && items.length > 0) items.push({item: null, weight: node.bytes});
  items.sort((a, b) => b.weight - a.weight);
  squarify(items, {left: 0, top: 0, width, height}, (child, left, top, w, h) => {
    const style = {
      left: `${(100 * left) / width}%`, top: `${(100 * top) / height}%`,
      width: `${(100 * w) / width}%`, height: `${(100 * h) / height}%`,
    };
    if (child === null || Math.min(w, h) < smallestTile || view.nodes.size >= mostTiles) return;
    if (child === rest) {
      group.append(make('div', {class: 'tile rest', style, title: `${size(node.rest)} in smaller pieces`}));
      return;
    }
    group.append(tileOf(view, child, style, w, h, level));
  });
}

/** Whether a text fits into so many pixels: its letters are about 7 pixels wide. */
function fits(text, width) {
  return 7 * text.length <= width;
}

/** A name as it fits into so many pixels: if it is too long, without its namespaces. */
function fitting(text, width) {
  return fits(text, width) || text.includes(' › ') ? text : text.replace(/^(?:[\w$~]+::)+(?=[\w$~(])/, '');
}

/** A label, with the size at its end if that is wanted and there is room. */
function labelPart(view, node, width, withSize) {
  const hasSize = withSize && width >= widthForSize;
  const text = brief(fitting(view.world.label(node), hasSize ? width - 70 : width), 160);
  if (!hasSize) return make('span', {class: 'label', 'aria-hidden': 'true'}, text);
  return make('span', {class: 'label beside-size', 'aria-hidden': 'true'}, make('span', {}, text),
    make('span', {class: 'size'}, view.world.amount(node)));
}

function tileOf(view, node, style, width, height, level) {
  const element = view.item(node, {classes: 'tile', level, style});
  const hasLabel = width >= 34 && height >= labelHeight;
  const isSplit = node.children.length > 0 && height >= labelHeight + 14;
  if (hasLabel) element.append(labelPart(view, node, width - 12, isSplit));
  const inner = {width: width - 6, height: height - (hasLabel ? labelHeight + 4 : 6)};
  const hasRoom = inner.width >= 14 && inner.height >= 10;
  if (node.children.length > 0 && hasRoom && level < treemapDepth) {
    if (!hasLabel) element.classList.add('bare');
    const group = view.group(element);
    drawTiles(view, node, group, inner.width, inner.height, level + 1);
    if (group.childElementCount > 0) return element;
    group.remove();
    if (element.querySelector('.size')) return element;
  }
  if (hasLabel && height >= 36 && fits(view.world.amount(node), width - 12)) {
    element.append(make('span', {class: 'size', 'aria-hidden': 'true'}, view.world.amount(node)));
  }
  return element;
}

function treemapView({name = 'Treemap', world = heapWorld, classes = 'treemap'} = {}) {
  const picture = make('div', {class: classes});
  const view = new TreeView({name, picture, world, draw: () => {
    const {width, height} = picture.getBoundingClientRect();
    const full = {left: '0', top: '0', width: '100%', height: '100%'};
    // Without a size yet, as when it is printed unseen: that of a page.
    picture.append(tileOf(view, view.zoomed, full, width || 700, height || 420, 1));
  }});
  let seen = '';
  const fit = () => {
    const above = picture.getBoundingClientRect().top + window.scrollY;
    const height = Math.max(280, window.innerHeight - above - roomBelow);
    if (picture.offsetWidth > 0) picture.style.setProperty('height', `${height}px`);
  };
  const hasAll = classes === 'treemap';  // the height that is left
  if (hasAll) window.addEventListener('resize', fit);
  new ResizeObserver(([entry]) => {
    if (hasAll) fit();
    const now = `${Math.round(entry.contentRect.width)} ${picture.offsetHeight}`;
    if (picture.offsetWidth === 0 || now === seen) return;
    seen = now;
    const had = picture.contains(document.activeElement);
    view.redraw();
    if (had) view.items()[0]?.focus({preventScroll: true});
  }).observe(picture);
  return view;
}
