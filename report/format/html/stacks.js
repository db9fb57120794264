
// Threads and fibers: what they wait for, those on one stack together.

const threads = report.threads || [];
const fiberGroups = report.groups || [];

/** A stack as a list, or nothing. */
function framesPart(stack) {
  const frames = stack === undefined ? [] : report.stacks[stack];
  if (frames.length === 0) return null;
  return make('ol', {class: 'frames'}, ...frames.map(([text, place, isOwn]) => (
    make('li', {class: isOwn ? 'own' : undefined}, make('span', {class: 'name'}, brief(text)),
      place ? make('span', {class: 'soft'}, ` ${place}`) : null))));
}

/** The innermost function of the program itself, or of any library: where it is. */
function placeOf(stack, own) {
  const known = /^(.*) \(([^()]*:\d+)\)$/.exec(own || '') ?? [own, own, ''];
  const frames = stack === undefined ? [] : report.stacks[stack];
  let [text, place = ''] = frames.find(([, , isOwn]) => isOwn) ?? frames[0] ?? ['no stack'];
  if (own) [, text, place] = known;
  return make('span', {class: 'place'}, make('span', {class: 'name'}, brief(text)),
    place ? make('span', {class: 'soft'}, ` ${place.split('/').pop()}`) : null);
}

/** One of the rows: how many, where, for what they wait; with more below it when it is opened. */
function stackPart({amount, inAll, head, lines, retained, finding, more}) {
  const parts = [
    make('span', {class: 'amount'}, count(amount),
      inAll > 1 ? make('span', {class: 'meter', 'aria-hidden': 'true'},
        make('span', {style: {width: `${((100 * amount) / inAll).toFixed(2)}%`}})) : null),
    make('span', {class: 'what'}, head, ...lines.filter(Boolean).map((text) => make('span', {class: 'line'}, brief(text, 600)))),
    retained ? make('span', {class: 'held'}, `holds ${size(retained)}`) : null,
  ].filter(Boolean);
  const style = finding === undefined ? 'stack' : 'stack found';
  const below = more.filter(Boolean);
  if (below.length === 0) return make('div', {class: style}, make('p', {}, ...parts));
  return make('details', {class: style}, make('summary', {}, ...parts), ...below);
}

/** Threads that do the same on the same stack. */
function threadGroups() {
  const groups = new Map();
  for (const thread of threads) {
    const key = JSON.stringify([thread.stack, thread.about, thread.notes, thread.ruby, thread.finding]);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(thread);
  }
  return [...groups.values()];
}

function threadPart(group) {
  const [{about, notes, ruby = [], finding, stack, own}] = group;
  const sum = (key) => group.reduce((before, thread) => before + (thread[key] || 0), 0);
  const names = group.slice(0, 3).map(({tid, name}) => (name ? `${tid} ${name}` : String(tid)));
  const title = `${group.length === 1 ? 'thread' : 'threads'} ${names.join(', ')}${group.length > 3 ? ', …' : ''}`;
  const times = [group[0].seconds === undefined ? '' : `${sum('seconds').toFixed(2)} s of processor time`,
    group[0].load === undefined ? '' : `now ${sum('load')} %`];
  const all = group.length <= 3 ? [] : [make('p', {class: 'all name'},
    group.map(({tid, name}) => (name ? `${tid} ${name}` : tid)).join(', '))];
  return stackPart({
    amount: group.length, inAll: report.threads_in_all, head: placeOf(ruby[0]?.[1] ?? stack, own),
    lines: [[about, ...times].filter(Boolean).join(', '), ...(ruby.length ? [ruby[0][0]] : []), ...notes, title],
    retained: sum('retained'), finding,
    more: [...all, ...ruby.flatMap(([text, own]) => [make('p', {class: 'all'}, brief(text, 600)), framesPart(own)]),
      framesPart(stack)]});
}

function fibersPart({fibers, names, waits, waits_in_all: waitsInAll, listed, retained, finding, stack, own, runtime}) {
  const words = waits.map(([number, text]) => (
    fibers === 1 ? text : waitsInAll === 1 ? `each ${text}` : `${count(number)}: ${text}`));
  if (waitsInAll > waits.length) words.push(`… and ${count(waitsInAll - waits.length)} other waits`);
  const title = `${runtime ? 'the runtime’s own: ' : ''}${fibers === 1 ? 'fiber' : 'fibers'} ${names}`;
  const left = fibers - listed.length;
  const one = ([name, wait, held]) => make('li', {}, make('span', {class: 'name'}, brief(name)),
    make('span', {class: 'soft'}, ` ${brief(wait, 600)}${held ? `, holds ${size(held)}` : ''}`));
  const all = fibers === 1 ? null : make('details', {class: 'inner'},
    make('summary', {}, left > 0 ? `${count(listed.length)} of the ${counted(fibers, 'fiber')}` : `The ${counted(fibers, 'fiber')}`),
    make('ul', {class: 'frames'}, ...listed.map(one)));
  return stackPart({amount: fibers, inAll: report.fibers_in_all, head: placeOf(stack, own), lines: [...words, title],
    retained, finding, more: [framesPart(stack), all]});
}

function stacksPart(title, lead, parts, left) {
  if (parts.length === 0) return [];
  return [make('h3', {class: 'section'}, title, lead ? make('span', {class: 'soft'}, ` ${lead}`) : null), ...parts,
    left > 0 ? make('p', {class: 'soft'}, `and ${count(left)} more, not listed`) : null];
}

/** Keeps the rows that contain all words that are typed. */
function stackFilter(rows) {
  const shown = make('span', {class: 'soft'});
  const texts = rows.map((row) => row.textContent);
  const field = make('input', {type: 'search', placeholder: 'Filter stacks: function, name or wait',
    'aria-label': 'Filter stacks', autocomplete: 'off', spellcheck: 'false', oninput: () => {
      const test = matcherOf(field.value);
      rows.forEach((row, at) => { row.hidden = !test(texts[at]); });
      const left = rows.filter((row) => !row.hidden).length;
      shown.textContent = left === rows.length ? '' : `${count(left)} of ${counted(rows.length, 'row')}`;
      announce(shown.textContent || counted(rows.length, 'row'));
    }});
  return make('div', {class: 'tools'}, field, shown);
}

const fewStacks = 8;  // need no filter

function stacksView() {
  const {remarks = [], warnings = [], threads_in_all: threadsInAll = 0, fibers_in_all: fibersInAll = 0,
    groups_in_all: groupsInAll = 0} = report;
  const ofThreads = threadGroups().map(threadPart);
  const ofFibers = fiberGroups.map(fibersPart);
  const rows = [...ofThreads, ...ofFibers];
  const waiting = fiberGroups.reduce((sum, {fibers}) => sum + fibers, 0);
  const running = groupsInAll > fiberGroups.length ? 0 : fibersInAll - waiting;
  const fiberLead = `on ${counted(groupsInAll, 'different stack')}${running > 0 ? `, and ${count(running)} on a thread` : ''}`;
  const lists = [
    stacksPart(counted(threadsInAll, 'thread'), ofThreads.length < threads.length
      ? `which do ${counted(ofThreads.length, 'different thing')}` : '', ofThreads, threadsInAll - threads.length),
    stacksPart(counted(fibersInAll, 'fiber'), fiberLead, ofFibers, groupsInAll - fiberGroups.length)];
  return make('div', {}, ...findingsPart(), ...warnings.map((text) => make('p', {class: 'remark'}, brief(text, 1200))),
    ...remarks.map((text) => make('p', {class: 'lead'}, brief(text, 1200))),
    rows.length > fewStacks ? stackFilter(rows) : '', ...lists.flat().filter(Boolean));
}
