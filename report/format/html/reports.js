
// The suspects: the few objects that retain most.

/** A sentence with its bytes and counts in readable form. */
function humanized(sentence) {
  return sentence.replace(/\b(\d+) bytes\b/g, (_, bytes) => size(Number(bytes)))
    .replace(/(^|mostly |through |list of )(\d+)(?= )/g, (_, before, number) => before + count(Number(number)));
}

/** Without those within another: they are parts of it. */
function suspectCount() {
  return report.suspects.found.filter(({within}) => within === undefined).length;
}

/** Of a small heap, any share may be large. */
function smallHeapPart() {
  return report.suspects.small && report.suspects.found.length > 0
    ? [make('p', {class: 'lead'}, `The whole heap is small, ${size(liveBytes)} live: a large share of it is nothing unusual.`)] : [];
}

function suspectsView() {
  const {found, threshold} = report.suspects;
  const lead = found.length === 0
    ? 'No single object retains a tenth of the live bytes.'
    : `The few objects that each retain a tenth or more (${size(threshold)}) of the live bytes${threshold * 11 < liveBytes ? ' that are not code' : ''}.`;
  return make('div', {}, ...smallHeapPart(), make('p', {class: 'lead'}, lead), ...found.map(suspectPart));
}

function suspectPart({sentence, retained, within, steps, contents}) {
  return make('article', {class: within === undefined ? 'suspect' : 'suspect within'},
    make('h3', {}, brief(humanized(sentence), 600)), shareBar(retained, liveBytes),
    make('div', {class: 'pair'},
      make('div', {}, make('h4', {}, 'The path to it'), stepsOf(steps)),
      make('div', {}, make('h4', {}, 'What it retains'),
        make('table', {}, make('caption', {class: 'unseen'}, 'What it retains'),
          make('thead', {class: 'unseen'}, make('tr', {}, ...['Type', 'Objects', 'Bytes'].map((text) => (
            make('th', {scope: 'col'}, text))))),
          make('tbody', {}, ...contents.map(([number, objects, bytes]) => make('tr', {},
            make('th', {scope: 'row'}, nameButton(number)), make('td', {}, count(objects)),
            make('td', {}, sizeText(bytes)))))))));
}
