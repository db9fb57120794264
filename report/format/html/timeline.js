
// What was allocated over time, as columns of types, and what of it was in use.

function columnsOf({caption, series, most}) {
  const columns = series[0].amounts.map((_, at) => make('div', {class: 'column'},
    ...series.filter(({amounts}) => amounts[at] > 0).map(({name, amounts}) => make('span', {
      class: 'part', title: `${name}: ${size(amounts[at])}`,
      style: {height: `${((100 * amounts[at]) / most).toFixed(3)}%`, '--hue': hueOf(name)},
    }))));
  return make('div', {class: 'columns-of-time', role: 'img', 'aria-label': caption}, ...columns);
}

function chartPart(title, most, series) {
  const caption = `${title}, from 0 to ${tracedSeconds.toFixed(1)} s; at most ${most.text}`;
  return make('figure', {class: 'chart'},
    make('figcaption', {}, make('span', {}, title), make('span', {class: 'soft'}, `at most ${most.text}`)),
    columnsOf({caption, series, most: most.value}),
    make('p', {class: 'axis soft', 'aria-hidden': 'true'}, make('span', {}, '0 s'),
      make('span', {}, `${tracedSeconds.toFixed(1)} s`)));
}

function timelineParts() {
  const {step_ns: step, rows, others, in_use: inUse} = traced.timeline;
  if (!step || rows.length === 0) return [];
  const series = rows.map(([number, amounts]) => ({number, name: nameOf(number), amounts}));
  if (others.length > 0) series.push({name: 'other types', amounts: others});
  const sums = inUse.map((_, at) => series.reduce((sum, {amounts}) => sum + amounts[at], 0));
  const most = Math.max(1, ...sums);
  const mostInUse = Math.max(1, ...inUse);
  const legend = make('ul', {class: 'legend'}, ...series.map(({number, name}) => make('li', {},
    make('span', {class: 'swatch', 'aria-hidden': 'true', style: {'--hue': hueOf(name)}}),
    number === undefined ? make('span', {class: 'soft'}, name) : nameButton(number))));
  return [make('div', {class: 'charts'},
    chartPart('Allocated over time, by type', {value: most, text: rateOf(most, step / 1e9)}, series),
    chartPart('In use over time', {value: mostInUse, text: size(mostInUse)}, [{name: 'in use', amounts: inUse}])),
  legend];
}
