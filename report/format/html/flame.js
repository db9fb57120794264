
// The tree as bars below bars: the bars below a bar are held by it, and as wide as what they retain.

const narrowestFrame = 0.0012;  // of the width of all
const deepestFrame = 60;        // levels below the present node
const frameHeight = 22;

function flameView() {
  const picture = make('div', {class: 'flame'});
  const view = new TreeView({name: 'Flame graph', picture, draw: drawFlame});
  return view;
}

function drawFlame(view) {
  const line = view.world.line(view.zoomed);
  let group = view.picture;
  for (const node of line) {
    const isAbove = node !== view.zoomed;
    const element = frameOf(view, node, 1, line.indexOf(node) + 1, {left: '0', width: '100%'});
    if (isAbove) element.classList.add('above');
    group.append(element);
    group = view.group(element);
  }
  const rows = line.length + drawFrames(view, view.zoomed, group, 1, line.length + 1);
  view.picture.style.height = `${rows * frameHeight + 22}px`;
}

function frameOf(view, node, share, level, style) {
  const element = view.item(node, {classes: 'frame', level, style});
  if (share < 0.02) element.classList.add('narrow');
  if (share < 0.02) element.append(make('span', {class: 'label', 'aria-hidden': 'true'}));
  else element.append(labelPart(view, node, share * (view.picture.clientWidth || 700) - 14, true));
  return element;
}

/** Draws what is below a node; returns how many rows that takes. */
function drawFrames(view, node, group, share, level) {
  if (level > deepestFrame + view.world.line(view.zoomed).length) return 0;
  let rows = 0;
  let left = 0;
  for (const child of node.children) {
    const part = child.retained / node.retained;
    if (part * share < narrowestFrame) break;
    const element = frameOf(view, child, part * share, level,
      {left: `${100 * left}%`, width: `${100 * part}%`});
    group.append(element);
    left += part;
    if (child.children.length === 0) {
      rows = Math.max(rows, 1);
      continue;
    }
    rows = Math.max(rows, 1 + drawFrames(view, child, view.group(element), part * share, level + 1));
  }
  return rows;
}
