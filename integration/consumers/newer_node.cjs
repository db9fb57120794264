// Functions of newer Nodes than Debian's that DevTools' engine needs.
Promise.withResolvers ??= function () {
  const parts = {};
  parts.promise = new this((resolve, reject) => Object.assign(parts, {resolve, reject}));
  return parts;
};
