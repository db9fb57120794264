// Reads a .heapsnapshot with the heap engine of Chrome's DevTools:
// node devtools.mjs DIRECTORY FILE [CLASS], where npm put chrome-devtools-mcp into DIRECTORY.
// Prints objects, bytes, name and retained bytes of each class. With CLASS also the names along the
// shortest path from its first object to the root, with "via" before them.
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [directory, file, wanted] = process.argv.slice(2);
const manager_path = path.join(directory, 'node_modules/chrome-devtools-mcp/build/src/processors',
                               'HeapSnapshotManager.js');
const {HeapSnapshotManager} = await import(pathToFileURL(manager_path));
const manager = new HeapSnapshotManager();
const {aggregates} = await manager.getAggregates(file);
for (const row of aggregates) {
  console.log([row.count, row.selfSize, row.className, row.retainedSize].join('\t'));
}
const found = aggregates.find((row) => row.className === wanted);
if (found) {
  let [node] = (await manager.getNodesById(file, found.id)).items;
  for (let steps = 0; node && steps < 20; ++steps) {
    const {items} = await manager.getRetainers(file, node.id);
    items.sort((a, b) => a.node.distance - b.node.distance);
    if (items.length === 0) break;
    console.log(`via\t${items[0].name}\t${items[0].node.name}`);
    node = items[0].node;
  }
}
process.exit(0);
