// Builds the tree of valgrind's own viewer from a file, as its page does when the file is chosen:
// node dhat.js dh_view.js FILE. Prints objects, bytes and name of each child of the root, a line
// each. The only part of the viewer's page that it needs is the list of sort metrics. The status is
// 77 if this viewer does not have the parts that are used here.
const fs = require('fs');
const vm = require('vm');
const [viewer, file] = process.argv.slice(2);

const context = vm.createContext({document: {}, window: {}, console, performance});
vm.runInContext(fs.readFileSync(viewer, 'utf8'), context, viewer);
const parts = ['gSelectData', 'buildTree'];
const missing = parts.filter((part) => vm.runInContext(`typeof ${part}`, context) === 'undefined');
if (missing.length > 0) {
  console.error(`the viewer has another form: no ${missing}`);
  process.exit(77);
}
context.text = fs.readFileSync(file, 'utf8');
const lines = vm.runInContext(`
  gSelect = {selectedIndex: 0, childNodes: gSelectData.map(() => ({}))};
  gData = JSON.parse(text);
  buildTree();
  (gRoot._kids || [gRoot]).map(
      (kid) => [kid._totalBlocks, kid._totalBytes, gData.ftbl[kid._frames[0]]].join('\\t'))`,
    context, 'dhat.js');
process.stdout.write(lines.map((line) => line + '\n').join(''));
