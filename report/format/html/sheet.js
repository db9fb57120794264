
// A table of figures with sortable columns, which shows only some of its rows at first.
//
// A column: {key, label, cell(row): the cell's content, value(row): the sort value, ascending:
// whether the smallest come first, class}. The first column is the heading of each row.

class Sheet {
  /** While isGrouped, rows with a lower `group(row)` come first, whatever the sort column. */
  constructor({caption, columns, rows, sort, shown = 200, chosen, group = () => 0, canGrow = true, classes = ''}) {
    Object.assign(this, {caption, columns, rows, shown, chosen, group, canGrow});
    this.isGrouped = true;
    this.first = shown;
    this.sort = sort;
    this.descending = !columns.find((column) => column.key === sort).ascending;
    this.kept = rows;
    this.body = make('tbody');
    this.foot = make('tfoot');
    this.heads = new Map(columns.map((column) => [column.key, this.head(column)]));
    this.table = make('table', {class: classes},
      make('caption', {class: 'unseen'}, caption),
      make('thead', {}, make('tr', {}, ...this.heads.values())), this.body, this.foot);
    this.more = make('p', {class: 'more'});
    this.element = make('div', {class: 'sheet'}, this.table, this.more);
    this.draw();
  }

  head(column) {
    const arrow = make('span', {class: 'arrow', 'aria-hidden': 'true'});
    return make('th', {scope: 'col', class: column.class},
      make('button', {type: 'button', onclick: () => this.sortBy(column.key)},
        ...(column === this.columns[0] ? [column.label, ' ', arrow] : [arrow, column.label])));
  }

  sortBy(key) {
    const column = this.columns.find((one) => one.key === key);
    this.descending = this.sort === key ? !this.descending : !column.ascending;
    this.sort = key;
    this.draw();
    announce(`${this.caption}, by ${column.label}, ${this.descending ? 'largest' : 'smallest'} first`);
  }

  /** Shows the rows for which `test` is true. */
  keep(test) {
    this.kept = this.rows.filter(test);
    this.shown = this.first;
    this.draw();
  }

  sorted() {
    const {value} = this.columns.find((column) => column.key === this.sort);
    const sign = this.descending ? -1 : 1;
    const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    const group = this.isGrouped ? this.group : () => 0;
    return [...this.kept].sort((a, b) => (
      group(a) - group(b) || sign * order(value(a), value(b)) || order(a.name, b.name)));
  }

  draw() {
    for (const [key, head] of this.heads) {
      const isSorted = key === this.sort;
      head.setAttribute('aria-sort',
        !isSorted ? 'none' : this.descending ? 'descending' : 'ascending');
      head.querySelector('.arrow').textContent = this.descending && isSorted ? '↓' : '↑';
    }
    this.body.replaceChildren(...this.sorted().slice(0, this.shown).map((row) => this.line(row)));
    const left = this.kept.length - Math.min(this.kept.length, this.shown);
    this.more.hidden = left === 0 || !this.canGrow;
    this.more.replaceChildren(make('button', {class: 'button', type: 'button', onclick: () => {
      const next = this.shown;
      this.shown += 500;
      this.draw();
      this.body.rows[next]?.querySelector('button')?.focus();
    }}, `Show ${count(Math.min(500, left))} more of ${count(left)}`));
  }

  /** The remaining rows, in order, as lines of exact values. */
  lines() {
    const columns = this.columns.filter((column) => column.class !== 'share');
    return [columns.map((column) => column.label),
      ...this.sorted().map((row) => columns.map((column) => column.value(row)))];
  }

  line(row) {
    const [first, ...others] = this.columns;
    return make('tr', {class: this.chosen?.(row) ? 'chosen' : undefined},
      make('th', {scope: 'row', class: first.class}, first.cell(row)),
      ...others.map((column) => make('td', {class: column.class}, column.cell(row))));
  }
}

/** Whether a name matches the typed words: all of them; * matches anything. */
function matcherOf(text) {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== '');
  const tests = words.map((word) => {
    if (!word.includes('*')) return (name) => name.includes(word);
    const parts = word.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
    const pattern = new RegExp(`^${parts.join('[^]*')}$`);
    return (name) => pattern.test(name);
  });
  return (name) => tests.every((test) => test(name.toLowerCase()));
}

function csvOf(lines) {
  // Marks text that a spreadsheet would treat as a formula.
  const cell = (value) => {
    const text = String(value);
    const safe = typeof value === 'string' && /^[=+@-]/.test(text) ? `'${text}` : text;
    return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return `${lines.map((line) => line.map(cell).join(',')).join('\n')}\n`;
}

function saveAs(name, text) {
  const link = make('a', {href: URL.createObjectURL(new Blob([text], {type: 'text/csv'})), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href));
}

/** Buttons that copy the rows of a sheet, or save them as a file for a spreadsheet. */
function takeAway(sheet) {
  const copy = make('button', {class: 'button', type: 'button', onclick: async () => {
    const text = sheet.lines().map((line) => line.join('\t')).join('\n');
    await navigator.clipboard.writeText(text);
    announce(`${counted(sheet.kept.length, 'row')} copied`);
    copy.textContent = 'Copied';
    setTimeout(() => { copy.textContent = 'Copy'; }, 1500);
  }}, 'Copy');
  const name = `${programName}-${report.process.pid}-${sheet.caption.toLowerCase().replaceAll(' ', '-')}.csv`;
  return [navigator.clipboard ? copy : null, make('button', {class: 'button', type: 'button',
    onclick: () => saveAs(name, csvOf(sheet.lines()))}, 'CSV')].filter(Boolean);
}

/** A field that filters a sheet by name, and a line with the number of remaining rows. */
function filterFor(sheet, {label, things, extra = () => ''}) {
  const shown = make('span', {class: 'soft'});
  const tell = () => {
    const all = sheet.kept.length === sheet.rows.length;
    shown.textContent = (all ? counted(sheet.rows.length, things)
      : `${count(sheet.kept.length)} of ${counted(sheet.rows.length, things)}`) + extra(sheet.kept);
  };
  const field = make('input', {type: 'search', placeholder: `${label}: name, or Acme::*`,
    'aria-label': label, autocomplete: 'off', spellcheck: 'false', oninput: () => {
      const test = matcherOf(field.value);
      sheet.keep((row) => test(row.name));
      tell();
      announce(shown.textContent);
    }});
  tell();
  return {field, element: make('div', {class: 'tools'}, field, ...takeAway(sheet), shown)};
}
