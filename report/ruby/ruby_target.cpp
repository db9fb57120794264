#include "report/ruby/ruby_target.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "inject/prospect.h"
#include "report/collect/header.h"
#include "report/collect/hold.h"
#include "report/collect/pause.h"
#include "report/collect/private_memory.h"
#include "report/collect/while_it_changes.h"
#include "report/format/read/ruby/copied_heap.h"
#include "report/parallel.h"
#include "symbols/boehm/roots.h"
#include "symbols/heap/roots.h"
#include "symbols/ruby/copy_first.h"
#include "symbols/ruby/heap_kind.h"
#include "symbols/ruby/heap_pages.h"
#include "symbols/ruby/roots.h"

namespace heapattach {

namespace {

// The time for stopping and releasing the threads, without copying.
constexpr std::chrono::milliseconds kStops{4};

// Room for memory that the process may add before it is stopped.
constexpr std::uint64_t kSpareBytes = std::uint64_t{64} << 20;

struct Taken : snapshot::Holding {
  std::unique_ptr<Capture> memory;  // all writable memory; null without edges
  std::unique_ptr<ruby::HeapCopy> heap;
  MemoryMap map;
  std::uint64_t used_bytes = 0;  // of the writable memory
};

// Whether the process may have written the mapping, so that it may have references in it.
bool may_have_references(const Mapping& mapping) {
  const bool is_device = mapping.path.starts_with("/dev/") || mapping.path.starts_with("[vv");
  return mapping.readable && mapping.writable && mapping.is_private && !is_device;
}

std::vector<Range> writable_memory(const MemoryMap& map) {
  std::vector<Range> ranges;
  for (const Mapping& mapping : map.mappings()) {
    if (may_have_references(mapping)) ranges.push_back(mapping.range);
  }
  return ranges;
}

// The parts of writable memory that have contents: Ruby reserves much more for shapes and stacks
// than it uses. A page of a file has contents even if it was never touched.
Result<std::vector<Range>> used_memory(const Process& process,
                                       const MemoryMap& map,
                                       std::chrono::steady_clock::time_point deadline) {
  std::vector<Range> anonymous;
  std::vector<Range> used;
  for (const Mapping& mapping : map.mappings()) {
    if (!may_have_references(mapping)) continue;
    (mapping.is_anonymous() ? anonymous : used).push_back(mapping.range);
  }
  auto touched = snapshot::touched_parts(process, anonymous, deadline);
  if (!touched && touched.error().kind == ErrorKind::Timeout) return std::move(touched).error();
  // If the kernel does not show which pages have contents, all of them are taken.
  const std::vector<Range>& parts = touched ? *touched : anonymous;
  used.insert(used.end(), parts.begin(), parts.end());
  std::sort(used.begin(), used.end());
  return used;
}

std::uint64_t bytes_of(const std::vector<Range>& ranges) {
  std::uint64_t sum = 0;
  for (const Range& range : ranges) sum += range.bytes;
  return sum;
}

// Copies all writable memory, to follow the references in it once the process runs again.
Result<Taken> take_with_edges(const RubyTarget& target, const Request& request) {
  Taken taken;
  taken.map = target.core ? target.map : HA_TRY(target.process->maps());
  const std::uint64_t pages = HA_TRY(ruby::count_pages(*target.machine, target.memory));
  const std::uint64_t bytes = bytes_of(writable_memory(taken.map));
  taken.used_bytes = bytes;
  if (target.process) {
    taken.memory = std::make_unique<Capture>(
        HA_TRY(Arena::reserve(bytes + bytes / 4 + kSpareBytes, kSpareBytes)));
  }
  const auto copy = [&](const snapshot::HeldSource& from) -> Result<void> {
    if (from.process == nullptr) return {};
    taken.map = HA_TRY(from.process->maps());
    const auto used = HA_TRY(used_memory(*from.process, taken.map, from.deadline));
    taken.used_bytes = bytes_of(used);
    return taken.memory->add_parts(from.memory, writable_memory(taken.map), used,
                                   {workers_for(bytes), from.deadline, true});
  };
  HA_TRY(snapshot::hold(target, request, {.budget = request.longest_pause()}, copy, taken));
  taken.heap = std::make_unique<ruby::HeapCopy>(
      HA_TRY(Arena::reserve(ruby::HeapCopy::bytes_for(*target.machine, pages), 0)));
  const CopyLimits limits{workers_for(pages), request.deadline.at};
  if (!taken.memory) {
    HA_TRY(taken.heap->copy(*target.machine, target.memory, limits));
    return taken;
  }
  const ruby::CopyFirst memory(*taken.memory, target.memory);
  HA_TRY(taken.heap->copy(*target.machine, memory, limits));
  return taken;
}

ruby::ThreadWords words_of(const Taken& taken) {
  ruby::ThreadWords words;
  for (const auto& root : boehm::stack_roots(taken.freeze.threads, taken.map)) {
    words.stacks.push_back(root.range);
  }
  for (const FrozenThread& thread : taken.freeze.threads) {
    if (!thread.registers) continue;
    for (const std::uint64_t word : thread.registers->general) words.registers.push_back(word);
  }
  return words;
}

Result<void> add_objects(const RubyTarget& target,
                         const Taken& taken,
                         const Deadline& deadline,
                         snapshot::Snapshot& to) {
  std::optional<ruby::CopyFirst> copied;
  if (taken.memory) copied.emplace(*taken.memory, target.memory);
  const MemoryReader& memory = copied ? static_cast<const MemoryReader&>(*copied) : target.memory;
  const ruby::Values values(memory, target.machine->layout->values);
  ruby::ReferenceReader reader(*target.machine, values,
                               [&](ruby::Value value) { return taken.heap->has_object(value); });
  reader.use(taken.heap->shapes(),
             [&](ruby::Value value) { return taken.heap->slot_bytes_of(value); });
  reader.allow(taken.used_bytes / 8);
  ruby::CopiedReferences references{
      reader, ruby::find_roots(*target.machine, target.modules, memory, *taken.heap,
                               words_of(taken), reader)};
  return ruby::add_objects(*taken.heap, &references, to, deadline);
}

Result<Taken> take_once(const RubyTarget& target, const Request& request) {
  const std::uint64_t pages = HA_TRY(ruby::count_pages(*target.machine, target.memory));
  Taken taken;
  taken.heap = std::make_unique<ruby::HeapCopy>(
      HA_TRY(Arena::reserve(ruby::HeapCopy::bytes_for(*target.machine, pages),
                            pages * target.machine->layout->page_bytes)));
  const auto copy = [&](const snapshot::HeldSource& from) {
    return taken.heap->copy(*target.machine, from.memory, {workers_for(pages), from.deadline});
  };
  HA_TRY(snapshot::hold(target, request, {.budget = request.longest_pause()}, copy, taken));
  return taken;
}

void fill_header(const RubyTarget& target, const Taken& taken, snapshot::Snapshot& snapshot) {
  snapshot::Header& header = snapshot.header;
  snapshot::fill_origin(target, header);
  if (target.process) {
    header.pause_ms = std::chrono::duration<double, std::milli>(taken.freeze.pause).count();
    for (const FrozenThread& thread : taken.freeze.threads) {
      snapshot::Thread& added = snapshot.threads.emplace_back();
      added.tid = thread.tid;
      added.name = thread.name;
      added.state = thread.state;
    }
  }
  header.source = target.core ? "core" : "freeze";
  header.runtime = "ruby";
  header.live_only = false;
  snapshot::Heap& heap = snapshot.heaps.emplace_back();
  heap.name = ruby::kHeapKind.name;
  heap.version = target.ruby.version;
  heap.layout = "table";
  heap.collecting = taken.heap->is_collecting();
}

}  // namespace

Result<std::unique_ptr<RubyTarget>> RubyTarget::open(const Request& request) {
  auto found = std::make_unique<RubyTarget>(HA_TRY(Opened::open(request)));
  auto ruby = ruby::find_interpreter(found->modules, found->memory);
  if (!ruby) return std::unique_ptr<RubyTarget>();
  found->ruby = std::move(*ruby);
  request.note(fmt::format("{} in {}", found->ruby.description, found->ruby.module));
  auto machine = ruby::find_machine(found->modules, found->memory, found->ruby);
  if (machine) {
    found->machine = *machine;
  } else {
    found->no_machine = machine.error().message();
    request.note(found->no_machine);
  }
  return found;
}

bool can_read_ruby_from_outside(const RubyTarget& target, const snapshot::DumpedOptions& options) {
  return target.machine && !options.with_values && !options.by_line;
}

Result<bool> examine_ruby(const Request& request, bool from_outside, snapshot::Examination& found) {
  const auto opened = HA_TRY(RubyTarget::open(request));
  if (!opened) return false;
  const RubyTarget& target = *opened;
  const auto longest = request.longest_pause();
  snapshot::RubyFacts& facts = found.ruby.emplace();
  facts.version = target.ruby.version;
  facts.description = target.ruby.description;
  facts.module = target.ruby.module;
  facts.no_outside = target.no_machine;
  if (target.machine) {
    const auto pages = ruby::count_pages(*target.machine, target.memory);
    if (pages) facts.heap_bytes = *pages * target.machine->layout->page_bytes;
  }
  const auto pause =
      snapshot::estimate_pause(*target.process, facts.heap_bytes.value_or(0), longest);
  facts.freeze = pause.freeze + kStops;
  facts.clone = pause.clone + kStops;
  snapshot::add_resource(target, found);
  found.modules = target.modules.all().size();
  for (const Module& module : target.modules.all()) {
    if (!module.symbols().empty()) ++found.modules_with_symbols;
  }
  found.obstacles.clear();  // such as that no collector was found
  found.refusal.reset();
  if (auto obstacle = clone_obstacle(*target.process, target.map, target.memory, longest)) {
    found.obstacles.push_back({"clone", std::move(*obstacle)});
    from_outside = true;
  }
  if (!from_outside) return true;
  if (target.machine) {
    found.gap = "its heap would be read from outside, with garbage";
  } else {
    found.refusal = ErrorKind::Unsupported;
  }
  return true;
}

Result<snapshot::Snapshot> read_ruby_from_outside(const RubyTarget& target,
                                                  const snapshot::DumpedOptions& options) {
  const Request& request = options.request;
  if (!target.machine) return Error{ErrorKind::Unsupported, target.no_machine};
  if (!can_read_ruby_from_outside(target, options)) {
    return Error{ErrorKind::Unsupported,
                 "a Ruby heap that is read from outside has no values and no lines"};
  }
  const bool with_edges = options.with_edges;
  const auto captured = std::chrono::system_clock::now();
  const auto take = [&] {
    return with_edges ? take_with_edges(target, request) : take_once(target, request);
  };
  const Taken taken =
      HA_TRY(snapshot::while_it_changes(target.process != nullptr, request.deadline, take));
  snapshot::Snapshot snapshot;
  if (with_edges) request.note("reading what the objects reference");
  HA_TRY(with_edges ? add_objects(target, taken, request.deadline, snapshot)
                    : ruby::add_objects(*taken.heap, nullptr, snapshot, request.deadline));
  fill_header(target, taken, snapshot);
  snapshot.header.captured = snapshot::moment_text(captured);
  request.note(fmt::format(
      "Ruby {}: read {} pages of its heap from outside; {} garbage objects are left out",
      target.ruby.version, taken.heap->page_count(), taken.heap->garbage()));
  return snapshot;
}

}  // namespace heapattach
