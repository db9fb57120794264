#include "symbols/musl/undecided.h"

#include <utility>

namespace heapattach::musl {

Result<void> Undecided::check(const Modules& modules, const MemoryReader& memory) const {
  auto found = glibc_.check(modules, memory);
  if (found || musl_.check(modules, memory)) return {};
  return found;
}

Result<void> Undecided::read(const heap::Copied& copied,
                             const heap::Taken& taken,
                             heap::Contents& contents) {
  auto found = glibc_.read(copied, taken, contents);
  if (found || found.error().kind != ErrorKind::Unsupported) return found;
  is_musl_ = musl_.read(copied, taken, contents).has_value();
  return is_musl_ ? Result<void>() : std::move(found);
}

heap::LiveSet Undecided::mark(heap::Heap& heap,
                              const heap::Copied& copied,
                              std::vector<heap::RootRange> roots,
                              unsigned workers) {
  heap::Source& owner = is_musl_ ? static_cast<heap::Source&>(musl_) : glibc_;
  return owner.mark(heap, copied, std::move(roots), workers);
}

}  // namespace heapattach::musl
