// What a reader of our pages sees, in headless Chromium: node pictures.mjs DIRECTORY FILE..., where npm put
// playwright-core into DIRECTORY. Each page is looked at in three widths, in light and dark, tab by tab: nothing
// is cut, nothing lies on something else, nothing is too wide or too faint. With HEAPATTACH_PICTURES=FOLDER, it
// saves what it sees there.
import assert from 'node:assert/strict';
import path from 'node:path';
import {drawn, launch, open, readContrast} from './browser.mjs';

const screens = [{width: 400, height: 800}, {width: 800, height: 600}, {width: 1400, height: 900}];

/** In the page: the faults that a reader would see. */
function readLayout() {
  const faults = [];
  const wide = document.documentElement.scrollWidth - window.innerWidth;
  if (wide > 0) faults.push(`the page is ${wide} pixels too wide`);
  const styles = new Map();
  const styleOf = (element) => {
    if (!styles.has(element)) styles.set(element, getComputedStyle(element));
    return styles.get(element);
  };
  const isApart = (element) => {  // it lies above the page on purpose, or is for screen readers
    for (let at = element; at; at = at.parentElement) {
      const {position, clipPath} = styleOf(at);
      if (['fixed', 'sticky'].includes(position) || clipPath === 'inset(50%)' || at.matches('.skip')) return true;
    }
    return false;
  };
  /** The part of a box that the boxes around it show. */
  const shownPart = (box, element) => {
    let {left, top, right, bottom} = box;
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      const {overflowX, overflowY, display} = styleOf(at);
      if (display === 'inline' || (overflowX === 'visible' && overflowY === 'visible')) continue;
      const around = at.getBoundingClientRect();
      [left, right] = [Math.max(left, around.left), Math.min(right, around.right)];
      [top, bottom] = [Math.max(top, around.top), Math.min(bottom, around.bottom)];
    }
    return {left, top, right, bottom};
  };
  /** Whether somebody can scroll to the rest, or an ellipsis shows that there is more. */
  const mayBeCut = (element) => {
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      const {overflowX, overflowY, textOverflow} = styleOf(at);
      if (textOverflow === 'ellipsis' || [overflowX, overflowY].some((how) => how === 'auto' || how === 'scroll')) return true;
    }
    return false;
  };
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.matches('script, style, noscript')) continue;
    if (!element.checkVisibility({visibilityProperty: true}) || isApart(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      const part = shownPart(box, element);
      const hasPart = part.right - part.left > 1 && part.bottom - part.top > 1;
      const cut = Math.max(box.width - Math.max(0, part.right - part.left), box.height - Math.max(0, part.bottom - part.top));
      if (cut > 3 && !mayBeCut(element)) faults.push(`cut by ${cut.toFixed(0)} pixels: "${node.data.trim().slice(0, 60)}" (${element.className})`);
      if (hasPart) texts.push({...part, node, text: node.data.trim().slice(0, 40), element});
    }
  }
  texts.sort((a, b) => a.top - b.top);
  for (let i = 0; i < texts.length; ++i) {
    for (let j = i + 1; j < texts.length && texts[j].top < texts[i].bottom - 3; ++j) {
      const across = Math.min(texts[i].right, texts[j].right) - Math.max(texts[i].left, texts[j].left);
      const down = Math.min(texts[i].bottom, texts[j].bottom) - texts[j].top;
      if (texts[i].node !== texts[j].node && across > 2 && down > 4) faults.push(`"${texts[i].text}" lies on "${texts[j].text}"`);
    }
  }
  const lines = new Map();
  for (const card of document.querySelectorAll('.card')) {
    const top = Math.round(card.getBoundingClientRect().top);
    lines.set(top, (lines.get(top) ?? 0) + 1);
  }
  if (lines.size > 1 && [...lines.values()].includes(1)) faults.push('a card is alone on its line');
  if (lines.size > 1 && window.innerWidth >= 800) faults.push('the cards take several lines');
  for (const part of document.querySelectorAll('.card dt, .card dd')) {
    if (part.scrollWidth > part.clientWidth + 1) faults.push(`too wide for its card: "${part.textContent}"`);
  }
  const pictures = [...document.querySelectorAll('.treemap')].filter((one) => one.checkVisibility());
  for (const picture of pictures) {
    const {top, height} = picture.getBoundingClientRect();
    if (height < 200) faults.push(`a picture is only ${height} pixels high`);
    if (top + window.scrollY > 0.65 * window.innerHeight) faults.push(`a picture begins only at ${top} pixels`);
  }
  return faults.slice(0, 8);
}

const [directory, ...files] = process.argv.slice(2);
const browser = await launch(directory);
let looks = 0;

async function look(page, name, screen) {
  const where = `${name}, ${screen.width} pixels`;
  assert.deepEqual(await page.evaluate(readLayout), [], where);
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({colorScheme});
    const {worst} = await page.evaluate(readContrast);
    assert.ok(worst.ratio >= 4.5, `${where}: contrast ${worst.ratio} in ${colorScheme}: ${worst.text}`);
    if (process.env.HEAPATTACH_PICTURES) {
      await page.screenshot({path: path.join(process.env.HEAPATTACH_PICTURES,
        `${name}-${screen.width}-${colorScheme}.png`.replaceAll(' ', '-'))});
    }
    ++looks;
  }
  await page.emulateMedia({colorScheme: 'light'});
}

try {
  for (const file of files) {
    const problems = [];
    const {page} = await open(browser, file, problems);
    for (const screen of screens) {
      await page.setViewportSize(screen);
      const tabs = page.getByRole('tab', {includeHidden: true});
      for (let at = 0; at < await tabs.count(); ++at) {
        if (await tabs.nth(at).isVisible()) await tabs.nth(at).click();
        await page.evaluate(() => window.scrollTo(0, 0));
        await drawn(page);
        const tab = (await tabs.nth(at).getAttribute('id')).replace('tab-', '');
        await look(page, `${path.basename(file, '.html')} ${tab}`, screen);
      }
    }
    assert.deepEqual(problems, []);
    await page.close();
  }
  console.log(`${looks} looks at ${files.length} pages: nothing cut, nothing hidden, nothing too faint`);
} finally {
  await browser.end();
}
