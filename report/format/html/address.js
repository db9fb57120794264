
// The present view as the fragment of the page's address: "#types", "#suspects/type=Shop%3A%3ASession",
// "#overview/object=0x7f12a0". Links go there, and the browser's Back returns to earlier views.

const longestName = 300;  // letters of a name in the address; longer names are replaced by their number

const address = {
  isReading: false,

  text() {
    const {object, current} = details;
    let text = `#${shownPage ? `${report.process.pid}/` : ''}${views.shown.id}`;
    if (object) text += `/object=${object}`;
    else if (current !== null && nameOf(current).length <= longestName) text += `/type=${encodeURIComponent(nameOf(current))}`;
    else if (current !== null) text += `/name=${current}`;
    return text;
  },

  /** Puts the present view into the address, as a step that Back undoes, or replacing the last one. */
  write({replace = false} = {}) {
    if (this.isReading || !views.shown || location.hash === this.text()) return;
    history[replace ? 'replaceState' : 'pushState'](null, '', this.text());
  },

  /** Whether the address is of another process than the one that is shown. */
  isElsewhere() {
    return pages.length > 0 && pidInAddress() !== (shownPage?.process.pid ?? 0);
  },

  /** Shows the view in the address; false if this report does not have it. */
  read() {
    const [id, what = ''] = location.hash.slice(1).replace(/^\d+\//, '').split(/\/(.*)/s);
    if (!views.all.some((view) => view.id === id)) return false;
    this.isReading = true;
    views.show(id);
    this.readDetails(what);
    this.isReading = false;
    return true;
  },

  readDetails(what) {
    const [key, text = ''] = what.split(/=(.*)/s);
    const object = key === 'object' ? objectAt(text) : undefined;
    let number = -1;
    if (key === 'type') number = report.names.indexOf(decoded(text));
    if (key === 'name' && Number(text) < report.names.length) number = Number(text);
    if (object) details.open(object.type, {object: object.address});
    else if (number >= 0) details.open(number);
    else if (details.current !== null) details.close();
  },
};

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
