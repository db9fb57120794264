// Chromium for the readers of our pages: how it is started, how a page is opened, and what is measured in one.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Starts Chromium; npm put playwright-core into `directory`. End it with end(). */
export async function launch(directory, viewport = {width: 1400, height: 900}) {
  const require = (await import('node:module')).createRequire(path.join(directory, 'package.json'));
  const {chromium} = require('playwright-core');
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'heapattach-html-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: '/usr/bin/chromium', headless: true, args: flags, viewport, reducedMotion: 'reduce',
  });
  context.end = async () => {
    await context.close();
    fs.rmSync(profile, {recursive: true, force: true});
  };
  return context;
}

/** Until the page has been drawn. */
export async function drawn(page) {
  await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); }));
}

/** Opens the report; `problems` collects errors that a reader should never see. */
export async function open(browser, file, problems) {
  const page = await browser.newPage();
  page.setDefaultTimeout(60000);  // other work on the machine may delay a browser
  const url = pathToFileURL(path.resolve(file)).href;
  page.on('console', (message) => problems.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => { problems.push('a dialog'); dialog.dismiss(); });
  page.on('request', (request) => {
    if (request.url().split('#')[0] !== url) problems.push(`request: ${request.url().slice(0, 200)}`);
  });
  const start = performance.now();
  await page.goto(url, {waitUntil: 'load'});
  await page.locator('[role="tab"][aria-selected="true"]').waitFor({state: 'attached'});
  await drawn(page);
  return {page, ms: performance.now() - start};
}

/** In the page: the luminance of its background, and the worst contrast of a text, as WCAG 2 measures it. */
export function readContrast() {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const known = new Map();
  const luminance = (colour) => {
    if (known.has(colour)) return known.get(colour);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((part) => (
      part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    known.set(colour, 0.2126 * r + 0.7152 * g + 0.0722 * b);
    return known.get(colour);
  };
  const backOf = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (colour !== 'rgba(0, 0, 0, 0)') return colour;
    }
    return 'white';
  };
  const worst = {ratio: Infinity, text: ''};
  for (const element of document.querySelectorAll('body *')) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!hasText || !element.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    const [a, b] = [luminance(getComputedStyle(element).color), luminance(backOf(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst.ratio) Object.assign(worst, {ratio, text: `"${element.textContent.trim().slice(0, 60)}" (${element.className})`});
  }
  return {back: luminance(getComputedStyle(document.body).backgroundColor), worst};
}
