// Replaces DuckDB's program, as far as the page on data needs it, with its library for Node:
// node duckdb.mjs DIRECTORY -csv -c QUERY, where npm put @duckdb/node-api into DIRECTORY.
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [directory, , , query] = process.argv.slice(2);
const library = path.join(directory, 'node_modules/@duckdb/node-api/lib/index.js');
const {DuckDBInstance} = await import(pathToFileURL(library));
const connection = await (await DuckDBInstance.create(':memory:')).connect();
const result = await connection.runAndReadAll(query);
console.log(result.columnNames().join(','));
for (const row of result.getRowsJson()) console.log(row.map((cell) => cell ?? '').join(','));
