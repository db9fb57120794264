
// The report that is embedded in the page, with lookup tables for it.

const whole = JSON.parse(byId('data').textContent);

/** On a page of several processes, the address begins with the pid of the one that is shown: "#4711/types". */
const pages = whole.pages || [];
const pidInAddress = () => Number(/^#(\d+)(?:\/|$)/.exec(location.hash)?.[1] ?? 0);
const shownPage = pages.find((page) => page.process.pid === pidInAddress());
const report = shownPage ?? whole;

/** Types come first among the names; locations, variables and others follow. */
const typeCount = report.types.length;

function nameOf(number) {
  return report.names[number];
}

function isType(number) {
  return number < typeCount;
}

/** A row for each type, in the order of the report: by bytes. */
const typeRows = report.types.map(([objects, bytes, retained, isReachable], number) => (
  {number, name: nameOf(number), objects, bytes, retained, isReachable: isReachable === 1}));

/** What objects of which only the size is known probably are: a guess, and shown as one. */
const guesses = new Map((report.guesses || []).map(([number, text]) => [number, `${text}?`]));

/** The program's own types, by name; others belong to a library, or consist of others. */
const ownTypes = new Set(report.own);

/** Own types before others, for sheets. */
const ownFirst = (row) => (ownTypes.has(row.number) ? 0 : 1);

/** The objects that can be inspected. */
const objects = new Map(report.objects.map((object) => [object.address, object]));

function objectAt(text) {
  return objects.get(text);
}

const liveBytes = report.totals.bytes;

/** If one child has nearly everything that a node has, both are shown as one: "All › global CACHE › Cache". */
const nearlyAll = 0.98;

function absorbChildren(node) {
  node.via = [];
  if (node.isAbsorbed) return;
  for (;;) {
    const only = node.children.find((child) => child.retained >= nearlyAll * node.retained);
    if (!only) break;
    node.via.push(node.name);
    only.isAbsorbed = true;
    Object.assign(node, {name: only.name, objects: only.objects, bytes: only.bytes, children: only.children});
    for (const child of node.children) child.parent = node.index;
  }
}

/** Links the nodes, each after its parent, to a tree, largest children first. */
function linked(nodes) {
  for (const node of nodes) node.children = [];
  for (const node of nodes) {
    if (node.index > 0) nodes[node.parent].children.push(node);
  }
  nodes.forEach(absorbChildren);
  for (const node of nodes) {
    node.children.sort((a, b) => b.retained - a.retained || a.index - b.index);
    const told = node.children.reduce((sum, child) => sum + child.retained, node.bytes);
    node.rest = Math.max(0, node.retained - told);  // too small to be in the report
  }
  return nodes;
}

/** The tree of what holds what. */
const tree = linked(report.tree.map(([parent, name, objects, bytes, retained], index) => (
  {index, parent, name, objects, bytes, retained})));

/** The name of a node, including merged ones. */
function labelOf(node) {
  const names = [...node.via, node.name].map(nameOf);
  if (node.index === 0) names[0] = 'All';
  return names.join(' › ');
}

/** The node and those above it, the whole first. */
function lineOf(node, nodes = tree) {
  const line = [node];
  while (line[0].index > 0) line.unshift(nodes[line[0].parent]);
  return line;
}

/** The nodes of that name in the tree, those that hold most first. */
function placesOf(name) {
  return tree.filter((node) => !node.isAbsorbed && node.index > 0 && (node.name === name || node.via.includes(name)))
    .sort((a, b) => b.retained - a.retained);
}

/** What nodes of that name hold directly, and what holds them, from the pairs of the report. */
function linksOf(name) {
  const link = ([holder, held, objects, bytes, retained]) => (
    {holder, held, objects, bytes, retained});
  const byRetained = (a, b) => b.retained - a.retained;
  return {
    holders: report.links.filter((row) => row[1] === name).map(link).sort(byRetained),
    held: report.links.filter((row) => row[0] === name).map(link).sort(byRetained),
  };
}

/** The paths from roots to objects of that type, those of most objects first. */
function waysTo(name) {
  return report.ways.filter((way) => way.type === name);
}

/** Identifies a process at a glance: the file of its program, without its folder. */
const programName = (report.process.exe || '').split('/').pop() || 'process';

/** What the process publishes about itself, as pairs of names and values. */
const resource = report.process.resource || [];
const serviceName = (resource.find(([name]) => name === 'service.name') || [])[1];
