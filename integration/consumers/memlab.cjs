// Reads a .heapsnapshot with memlab's own parser: node memlab.cjs DIRECTORY FILE [CLASS], where
// npm put @memlab/heap-analysis into DIRECTORY. Prints objects, bytes and name of each class, and
// for a single object what it retains. With CLASS also memlab's path from its first object to the
// root, edge and holder, with "via" before them.
const {createRequire} = require('module');
const [directory, file, wanted] = process.argv.slice(2);
const {getFullHeapFromFile} = createRequire(directory + '/')('@memlab/heap-analysis');

(async () => {
  const heap = await getFullHeapFromFile(file);
  const classes = new Map();
  heap.nodes.forEach((node) => {
    if (node.type === 'synthetic') return;
    const known = classes.get(node.name) ?? {objects: 0, bytes: 0, first: node.id, retained: 0};
    known.objects += 1;
    known.bytes += node.self_size;
    known.retained = node.retainedSize;
    classes.set(node.name, known);
  });
  for (const [name, known] of classes) {
    const retained = known.objects === 1 ? known.retained : '';
    console.log([known.objects, known.bytes, name, retained].join('\t'));
  }
  let node = classes.has(wanted) && heap.getNodeById(classes.get(wanted).first);
  for (let steps = 0; node && node.pathEdge && steps < 100; ++steps) {
    console.log(`via\t${node.pathEdge.name_or_index}\t${node.pathEdge.fromNode.name}`);
    node = node.pathEdge.fromNode;
  }
})();
