// Drives reports of heapattach in headless Chromium, as a reader would: node html.mjs DIRECTORY
// CHECK=FILE..., where npm put playwright-core into DIRECTORY. CHECK is `views`, `hostile`, `growth`,
// `several`, `trace`, `traced` or `large`; next to the FILE of `views` is FILE.json, the output of --sizes for the
// same snapshot, and next to that of `trace` the trace's table by type.
// Prints its measurements, and fails with a description of the fault.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {launch, open, readContrast} from './browser.mjs';

const texts = (locator) => locator.allTextContents();
const number = (text) => Number(text.replace(/[^0-9.-]/g, ''));
const tab = (page, name) => page.getByRole('tab', {name}).click();
const heading = (page) => page.locator('#details h2').textContent();

/** The rows of the counts as [objects, bytes, retained] by type, exact. */
async function readCounts(page) {
  return page.evaluate(() => Object.fromEntries([...document.querySelectorAll('#view-types tbody tr')]
    .map((row) => [row.querySelector('th').textContent, [1, 2, 4].map((cell) => {
      const text = row.cells[cell].querySelector('[title]')?.title ?? row.cells[cell].textContent;
      return Number(text.replace(/[^0-9]/g, ''));
    })])));
}

async function checkCounts(page, file) {
  const truth = JSON.parse(fs.readFileSync(`${file}.json`, 'utf8'));
  const expected = Object.fromEntries(truth.types.map((row) => (
    [row.type, [row.objects, row.bytes, row.retained_bytes]])));
  assert.deepEqual(await readCounts(page), expected);
  const live = page.locator('.card').first();
  assert.equal(await live.locator('dt').textContent(), 'Live');
  assert.equal(number(await live.locator('.beside').textContent()), truth.objects);
  assert.equal(number(await live.locator('[title]').getAttribute('title')), truth.bytes);
}

async function checkSorting(page) {
  // Own types come first until that is switched off.
  const own = page.getByRole('button', {name: 'Own types first'});
  const names = await texts(page.locator('#view-types tbody th'));
  const last = Math.max(...['Product', 'Shop'].map((name) => names.indexOf(name)));
  assert.ok(last < names.indexOf('String'), names.join());
  await own.click();
  assert.equal(await own.getAttribute('aria-pressed'), 'false');
  const head = page.locator('#view-types thead th', {hasText: 'Objects'});
  const column = () => texts(page.locator('#view-types tbody tr td:nth-child(2)'));
  for (const [order, sign] of [['descending', -1], ['ascending', 1]]) {
    await head.getByRole('button').click();
    assert.equal(await head.getAttribute('aria-sort'), order);
    const values = (await column()).map(number);
    assert.deepEqual(values, [...values].sort((a, b) => sign * (a - b)));
  }
}

async function checkFilter(page, type) {
  const field = page.getByRole('searchbox', {name: 'Filter types'});
  await field.fill(type.toUpperCase());
  const names = await texts(page.locator('#view-types tbody th'));
  assert.ok(names.length > 0 && names.every((name) => name.includes(type)), names.join());
  assert.match(await page.locator('#live').textContent(), /^\d+ of \d+ types/);
  await field.fill('nothing is called that');
  assert.equal(await page.locator('#view-types tbody tr').count(), 0);
  await field.fill('');
}

/** From a type along a path to what holds it, and back. */
async function checkDetails(page, type) {
  await page.locator('#view-types tbody').getByRole('button', {name: type, exact: true}).click();
  assert.equal(await heading(page), type);
  const steps = page.locator('#details .way').first().locator('.steps li');
  assert.ok(await steps.count() >= 3, 'a way has a root, what this holds, and more');
  const holder = steps.nth(1).getByRole('button');
  const name = await holder.textContent();
  await holder.click();
  assert.equal(await heading(page), name);
  await page.locator('#details').getByRole('button', {name: 'Back'}).click();
  assert.equal(await heading(page), type);
}

/** The answer without a click: what holds most, by which path, and the largest types. */
async function checkOverview(page) {
  const overview = page.locator('#view-overview');
  assert.ok(await overview.isVisible(), 'it opens with the overview');
  assert.ok(await page.locator('#details').isHidden(), 'empty details take no room');
  const suspect = overview.locator('.suspect').first();
  assert.match(await suspect.locator('h3').textContent(), /[KM]iB/);
  assert.match(await suspect.locator('.steps').textContent(), /global SHOP/);
  assert.ok((await texts(overview.locator('tbody th'))).length > 3);
  await overview.getByRole('button', {name: /All \d+ types/}).click();
  assert.ok(await page.locator('#view-types').isVisible());
}

/** A link opens a view and a type; an object shows its fields and what references it. */
async function checkAddress(page, url, type) {
  await page.goto(`${url}#suspects/type=${encodeURIComponent(type)}`);
  assert.equal(await page.getByRole('tab', {name: 'Suspects'}).getAttribute('aria-selected'), 'true');
  assert.equal(await heading(page), type);
  await page.locator('#details .way .address').first().click();
  const hash = await page.evaluate(() => location.hash);
  assert.match(hash, /^#suspects\/object=0x[0-9a-f]+$/);
  const details = page.locator('#details');
  assert.match(await details.textContent(), /Referenced by/);
  const field = details.getByRole('table', {name: 'Fields'}).locator('tbody th').first();
  assert.match(await field.textContent(), /@/);
  await page.goBack();
  assert.equal(await heading(page), type);
  assert.ok(!(await details.textContent()).includes(`at ${hash.split('=')[1]}`));
  await page.keyboard.press('Escape');
}

/** The rows as a file for a spreadsheet. */
async function checkCsv(page, file) {
  const truth = JSON.parse(fs.readFileSync(`${file}.json`, 'utf8'));
  await tab(page, 'Types');
  const [download] = await Promise.all([page.waitForEvent('download'),
    page.locator('#view-types').getByRole('button', {name: 'CSV'}).click()]);
  const lines = fs.readFileSync(await download.path(), 'utf8').trim().split('\n');
  assert.equal(lines[0], 'Type,Objects,Bytes,Retained');
  const product = truth.types.find((row) => row.type === 'Product');
  assert.ok(lines.includes(`Product,${product.objects},${product.bytes},${product.retained_bytes}`), lines.join('\n'));
  assert.equal(lines.length, truth.types.length + 1);
}

async function checkTreemap(page) {
  await tab(page, 'Treemap');
  const crumbs = page.locator('#view-treemap .crumbs button');
  assert.equal(await crumbs.count(), 1);
  const tiles = page.locator('#view-treemap [role="treeitem"]');
  assert.ok(await tiles.count() > 3);
  const before = await tiles.nth(1).getAttribute('aria-label');

  await tiles.nth(1).locator('> .label').click();
  assert.equal(await tiles.first().getAttribute('aria-label'), before);
  assert.equal(await crumbs.count(), 2);
  assert.ok(before.startsWith(await heading(page)), 'its details are shown');
  await crumbs.first().click();
  assert.equal(await crumbs.count(), 1);
}

/** Everything again without a mouse. */
async function checkKeys(page) {
  const focused = (selector) => page.evaluate((text) => document.activeElement.matches(text), selector);
  const press = (...keys) => keys.reduce((all, key) => all.then(() => page.keyboard.press(key)),
    Promise.resolve());
  await page.evaluate(() => { document.activeElement.blur(); window.scrollTo(0, 0); });
  await tab(page, 'Types');
  await press('ArrowRight', 'ArrowRight');
  assert.equal(await page.getByRole('tab', {name: 'Flame graph'}).getAttribute('aria-selected'), 'true');
  await press('ArrowLeft');
  await page.locator('#view-treemap [role="treeitem"][tabindex="0"]').focus();
  await press('ArrowRight');
  const inner = await page.evaluate(() => document.activeElement.getAttribute('aria-label'));
  await press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), inner);
  assert.equal(await page.locator('#view-treemap .crumbs button').count(), 2);
  await press(' ');
  assert.ok(await focused('#details h2'), 'the details have the focus');
  await press('Escape');
  assert.ok(await focused('#view-treemap [role="treeitem"]'), 'the picture has it again');
  await press('Backspace');
  assert.equal(await page.locator('#view-treemap .crumbs button').count(), 1);
  await page.locator('.skip').focus();
  await press('Enter');
  assert.ok(await focused('#main'), 'the link past the head leads to the report');
}

/** Rows of the stacks: how many threads or fibers, where, and what they wait for. */
async function checkStacks(page) {
  await tab(page, 'Stacks');
  const rows = page.locator('#view-stacks .stack');
  assert.ok(await rows.count() > 0);
  const amounts = (await texts(rows.locator('.amount'))).map(number);
  assert.ok(amounts.every((amount) => amount > 0), amounts.join());
  const first = page.locator('#view-stacks details.stack').first();
  await first.locator('> summary').click();
  assert.ok(await first.locator('.frames li').first().isVisible(), 'its frames are shown');
}

async function checkOtherViews(page) {
  await tab(page, 'Flame graph');
  assert.ok(await page.locator('#view-flame [role="treeitem"]').count() > 5);
  await tab(page, 'Suspects');
  assert.ok(await page.locator('#view-suspects h3').count() > 0);
  await checkStacks(page);
}

/** What can be checked without seeing it: names, roles, contrast. */
async function checkAccess(page) {
  const missing = await page.evaluate(() => {
    const wrong = [];
    const visible = (element) => element.checkVisibility();
    for (const element of document.querySelectorAll('button, a, input, [role="treeitem"], [role="tab"]')) {
      const name = element.getAttribute('aria-label') || element.textContent.trim();
      if (visible(element) && !name) wrong.push(`no name: ${element.outerHTML.slice(0, 100)}`);
    }
    for (const table of document.querySelectorAll('table')) {
      if (!table.caption || !table.querySelector('th[scope="col"]')) wrong.push('a table without heads');
    }
    const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
    if (new Set(ids).size !== ids.length) wrong.push('an id twice');
    if (document.querySelectorAll('h1').length !== 1 || !document.documentElement.lang) wrong.push('head');
    return wrong;
  });
  assert.deepEqual(missing, []);
}

/** The contrast of text and background, in both colour schemes. */
async function checkColours(page) {
  const pages = [];
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({colorScheme});
    const {back, worst} = await page.evaluate(readContrast);
    assert.ok(worst.ratio >= 4.5, `contrast ${worst.ratio} in ${colorScheme}: ${worst.text}`);
    pages.push(back);
  }
  assert.ok(pages[0] > 0.8 && pages[1] < 0.05, `${pages}`);
  await page.emulateMedia({colorScheme: 'light'});
}

async function checkPrint(page) {
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  await page.emulateMedia({media: 'print'});
  const hidden = await page.locator('.view').evaluateAll((views) => (
    views.filter((view) => !view.checkVisibility()).map((view) => view.id)));
  assert.deepEqual(hidden, []);
  await page.emulateMedia({media: 'screen'});
  if (process.env.HEAPATTACH_LONG !== '1') return;
  const pdf = await page.pdf({format: 'A4'});
  assert.ok(pdf.length > 10000);
}

/** Everything that comes from the target is only text, and none of it controls how it is read. */
async function checkHostile(page) {
  const found = await page.evaluate(() => ({
    scripts: document.scripts.length,
    strangers: document.querySelectorAll('img, iframe, object, embed, base, form, marquee').length,
    hacked: window.hacked,
    steering: /[\u0000-\u0008\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/.test(
      document.documentElement.textContent),
  }));
  assert.deepEqual(found, {scripts: 2, strangers: 0, hacked: undefined, steering: false});
  await tab(page, 'Types');
  const names = page.locator('#view-types tbody th button');
  const all = await texts(names);
  for (const part of ['</script>', '"quoted"', '\\u{202e}']) {
    assert.ok(all.some((name) => name.includes(part)), `${part} in ${all.join(' ').slice(0, 2000)}`);
  }
  for (let i = 0; i < await names.count(); ++i) await names.nth(i).click();
  for (const name of ['Treemap', 'Flame graph', 'Suspects', 'Stacks']) await tab(page, name);
  const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  assert.ok(width <= 0, `the page is ${width} pixels too wide`);
  // Even markup that got in could not run.
  assert.equal(await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'window.hacked = true';
    document.body.append(script);
    return window.hacked;
  }), undefined);
}

async function checkViews(page, file) {
  await checkOverview(page);
  await checkCounts(page, file);
  await checkSorting(page);
  await checkFilter(page, 'Product');
  await checkDetails(page, 'Product');
  await checkAccess(page);
  await checkTreemap(page);
  await checkKeys(page);
  await checkColours(page);
  await checkOtherViews(page);
  await checkAccess(page);
  await checkAddress(page, pathToFileURL(path.resolve(file)).href, 'Product');
  await checkCsv(page, file);
  await checkPrint(page);
}

async function checkGrowth(page) {
  const view = page.locator('#view-growth');
  assert.ok(await view.isVisible(), 'it opens with what has grown');
  assert.match(await page.locator('.card').first().textContent(), /^Grown\+.* [KM]iB/);
  const places = view.locator('.treemap [role="treeitem"]');
  const whole = await places.first().getAttribute('aria-label');
  assert.match(whole, /SHOP.*: \+.* [KM]iB, .* % of all growth$/);
  assert.ok(await places.count() > 2, 'the picture shows where it has grown');
  const leak = view.locator('.suspect').first();
  assert.match(await leak.locator('h3').textContent(), /new .* retain/);
  assert.match(await leak.locator('.steps').textContent(), /global SHOP.*@products/s);
  const retained = page.locator('#view-growth thead th', {hasText: 'Retained grown'});
  assert.equal(await retained.getAttribute('aria-sort'), 'descending');
  const rows = await texts(page.locator('#view-growth tbody tr'));
  assert.ok(rows.some((row) => row.includes('Product') && row.includes('+')), rows.join('\n'));
  await page.locator('#view-growth tbody').getByRole('button', {name: 'Product', exact: true}).click();
  assert.equal(await heading(page), 'Product');
}

/** A page of several processes: from the list to one of them, and back. */
async function checkSeveral(page) {
  const rows = page.locator('#view-processes tbody tr');
  assert.equal(await rows.count(), 2);
  assert.match((await texts(rows)).join(), /deadlock: thread/);
  assert.match(await rows.first().textContent(), /deadlock: thread/, 'a fault comes first');
  await checkAccess(page);
  const other = rows.last().getByRole('link');
  const pid = /\d+$/.exec(await other.textContent())[0];
  await other.click();
  await page.locator('#view-overview').waitFor();
  assert.ok((await page.locator('h1').textContent()).endsWith(`process ${pid}`));
  await tab(page, 'Types');
  assert.equal(await page.evaluate(() => location.hash), `#${pid}/types`);
  await page.getByRole('link', {name: 'All processes'}).click();
  await page.locator('#view-processes').waitFor();
  assert.equal(await rows.count(), 2);
}

/** The rows of a table of allocations: [allocated, allocations, in use, objects in use] by name. */
async function readAmounts(table) {
  return table.locator('tbody tr').evaluateAll((rows) => Object.fromEntries(rows.map((row) => {
    const cells = [...row.cells].slice(-6).filter((_, at) => at !== 1 && at !== 5);
    const exact = (cell) => Number((cell.querySelector('[title]')?.title ?? cell.textContent).replace(/[^0-9]/g, ''));
    return [row.cells[0].querySelector('.name').textContent, cells.map(exact)];
  })));
}

async function checkAmounts(page, file) {
  const truth = JSON.parse(fs.readFileSync(`${file}.json`, 'utf8'));
  const expected = Object.fromEntries(truth.rows.map((row) => (
    [row.type, [row.bytes, row.allocations, row.in_use_bytes, row.in_use_objects]])));
  assert.deepEqual(await readAmounts(page.getByRole('table', {name: 'Allocations by type'})), expected);
  const figure = page.locator('.card', {hasText: 'Allocations'}).first().locator('.figure');
  assert.equal(number(await figure.textContent()), truth.total.allocations);
}

/** The page of a saved trace: FILE.json is its table by type. */
async function checkTrace(page, file) {
  assert.ok(await page.locator('#view-allocations').isVisible(), 'it opens with the allocations');
  assert.deepEqual((await texts(page.getByRole('tab'))).map((text) => text.replace(/[\d,]+$/, '')),
    ['Allocations', 'Allocation flame graph']);
  const answers = page.locator('#view-allocations > div > .answers');
  assert.match((await texts(answers.locator('h3'))).join(), /allocates most,What stays comes from/);
  await checkAmounts(page, file);
  assert.equal(await page.locator('.columns-of-time').count(), 2);
  const code = page.getByRole('table', {name: 'Allocations by code'});
  await page.getByRole('searchbox', {name: 'Filter code'}).fill('session');
  const row = code.locator('tbody tr').first();
  assert.match(await row.locator('summary').textContent(), /Shop#login/);
  await row.locator('summary').click();
  assert.match(await row.locator('ol').textContent(), /Shop#serve/);
  await row.getByRole('button', {name: 'Shop::Session', exact: true}).click();
  assert.equal(await heading(page), 'Shop::Session');
  assert.match(await page.locator('#details .makers tbody').textContent(), /Shop#login/);
  await checkAccess(page);
  await tab(page, 'Allocation flame graph');
  const items = page.locator('#view-makers [role="treeitem"]');
  const all = await items.count();
  assert.match(await items.first().getAttribute('aria-label'), /^All: .*100.* % of all/);
  await page.getByRole('button', {name: 'In use', exact: true}).click();
  assert.ok(await items.count() < all, 'what is not in use any more has no width');
  await items.nth(1).locator('> .label').click();
  assert.equal(await page.locator('#view-makers .crumbs button').count(), 2);
  await checkAccess(page);
  await checkColours(page);
  await checkPrint(page);
}

/** A heap with a trace of its process: a type shows what holds it, and the code that makes it. */
async function checkTracedHeap(page) {
  const answers = page.locator('#view-overview > div > :first-child');
  assert.match(await answers.locator('h3').first().textContent(), /\(leaking\.cr:\d+\) allocates most$/);
  assert.match(await answers.locator('h3').last().textContent(), /^What stays\*? comes from .*\(leaking\.cr:\d+\)$/);
  await tab(page, 'Types');
  await page.locator('#view-types tbody').getByRole('button', {name: 'Product', exact: true}).click();
  const details = page.locator('#details');
  // The program may be in the middle of a look-up.
  assert.match(await details.locator('.way').first().textContent(), /(global SHOP|variable).*Hash\(String, Product\)/s);
  assert.match(await details.locator('.makers tbody').textContent(), /leaking\.cr:\d+/);
  await checkAccess(page);
  await tab(page, 'Allocation flame graph');
  assert.ok(await page.locator('#view-makers [role="treeitem"]').count() > 3);
}

const [directory, ...checks] = process.argv.slice(2);
const browser = await launch(directory);
const kinds = {views: checkViews, hostile: checkHostile, growth: checkGrowth, trace: checkTrace,
  traced: checkTracedHeap, several: checkSeveral, large: () => {}};

async function run(check, file) {
  const problems = [];
  const {page, ms} = await open(browser, file, problems);
  console.log(`a report for ${check} opened in ${ms.toFixed(0)} ms, ${fs.statSync(file).size} bytes`);
  if (check === 'large') assert.ok(ms < 2000, `it opens in ${ms} ms`);
  await kinds[check](page, file);
  // The last attempt of the hostile check is a script that the policy must block.
  const expected = check === 'hostile' ? /Content.Security.Policy/ : /^$/;
  assert.deepEqual(problems.filter((problem) => !expected.test(problem)), []);
  await page.close();
}

try {
  for (const text of checks) await run(...text.split(/=(.*)/, 2));
} finally {
  await browser.end();
}
