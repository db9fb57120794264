// Replaces ClickHouse's program, as far as the page on data needs it, with its library for Node:
// node clickhouse.cjs DIRECTORY local -q QUERY, where npm put chdb into DIRECTORY.
const path = require('node:path');

const [directory, , , query] = process.argv.slice(2);
const {query: run} = require(path.join(directory, 'node_modules/chdb'));
process.stdout.write(run(query, 'TSVWithNames'));
