// Perfetto's trace format, for the heap explorer of ui.perfetto.dev: classes, dominators, flame
// graph and shortest paths of a heap, and stacks of threads and fibers. A trace is a series of
// packets, so two files, one after the other, are one: a timeline of the process.
//
//   clocks · process and threads · heap graph, in several packets · frames and stacks · samples
//
// Facts about the reader that shaped this (protos/third_party/android/art/heap_graph.proto, and its
// importer):
// - An object has an id of 64 bits, the number of its type, its size, and two lists of the same
//   length: the names of its references and the objects referenced. An id is the address.
//   References are relative to a base, which makes them shorter. A value of 0 means that nothing is
//   referenced, so the base is less than every reference.
// - All packets but the last are `continued`, and `index` counts from 0; otherwise the reader
//   reports a truncated heap. Names may come after the objects that use them.
// - A root is a list of objects with one of Java's kinds. There is no room for the name of a
//   variable, so each location of roots is an object of its own without a size, "(thread 4711
//   stack)", whose fields are the variables. It is not an object of the program: its type's name
//   is in parentheses.
// - Objects that no root reaches are garbage to the reader. Without roots, as in some dumps, all of
//   them are.
// - An object of size 0 gets the size of its type, which is not set.
// - The reader cuts a field's name at its first space, and takes the part before it for a type. So
//   a space becomes "_".
// - Threads are samples of the oldest kind, which all releases show. Fibers need a release of 2026.
// - Frames are listed outermost first.
// - Texts are UTF-8, and appear in a page: names are made safe to show.

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/format/export/heapsnapshot_names.h"
#include "report/format/export/perfetto_packets.h"
#include "report/format/export/root_groups.h"
#include "report/short_names.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using namespace perfetto;  // NOLINT(google-build-using-namespace): numbers of fields
using snapshot::ObjectIndex;
using snapshot::Snapshot;

constexpr std::size_t kPacketBytes = std::size_t{256} << 10;

ProtobufMessage interned(std::uint64_t number, std::string_view text) {
  std::string name = terminal_text(text);
  std::replace(name.begin(), name.end(), ' ', '_');
  ProtobufMessage message;
  message.number(1, number);
  message.bytes(2, name);
  return message;
}

// The objects, their types and the roots.
class HeapGraph {
 public:
  HeapGraph(const Snapshot& snapshot, ExportStream& out, const Moment& moment)
      : snapshot_(snapshot), out_(out), moment_(moment), groups_(group_roots(snapshot)) {
    for (const snapshot::Type& type : snapshot.types) names_.emplace_back(type, strings_);
    element_ = strings_.number_of("[*]");
  }

  void put() {
    begin();
    for (ObjectIndex i = 0; i < snapshot_.objects.size() && !out_.has_failed(); ++i) {
      if (!is_counted(snapshot_, snapshot_.objects[i])) continue;
      put_object(i);
      if (i % 65536 == 0) out_.progress(i);
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) put_root(i);
    put_types();
    std::uint64_t number = 0;
    for (const std::string& text : strings_.all()) add(4, interned(++number, text));
    end(false);
  }

 private:
  void begin() {
    graph_.clear();
    graph_.number(1, static_cast<std::uint64_t>(moment_.pid));
    graph_.number(6, index_++);
  }
  void end(bool is_continued) {
    if (is_continued) graph_.number(5, 1);
    put_packet(out_, moment_, kHeapGraph, graph_);
  }
  void add(std::uint32_t field, const ProtobufMessage& message) {
    graph_.message(field, message);
    if (graph_.text().size() < kPacketBytes) return;
    end(true);
    begin();
  }

  // Numbers from 1 on: 0 is none.
  [[nodiscard]] std::uint64_t name_of(ObjectIndex from, const snapshot::Edge& edge) const {
    const auto name = names_[snapshot_.objects[from].type].of(std::uint64_t{edge.offset_words} * 8);
    return std::uint64_t{name.is_element ? element_ : name.number} + 1;
  }

  struct Reference {
    std::uint64_t name = 0;
    std::uint64_t to = 0;
  };
  static void add_references(const std::vector<Reference>& references, ProtobufMessage& object) {
    if (references.empty()) return;
    std::uint64_t base = references.front().to;
    for (const Reference& one : references) base = std::min(base, one.to);
    base -= 1;
    ProtobufMessage names;
    ProtobufMessage objects;
    for (const Reference& one : references) {
      names.varint(one.name);
      objects.varint(one.to - base);
    }
    object.number(6, base);
    object.message(4, names);
    object.message(5, objects);
  }

  void put_object(ObjectIndex index) {
    const snapshot::Object& object = snapshot_.objects[index];
    references_.clear();
    for (const snapshot::Edge& edge : snapshot_.edges_of(index)) {
      const snapshot::Object& to = snapshot_.objects[edge.to];
      if (is_counted(snapshot_, to)) references_.push_back({name_of(index, edge), to.address});
    }
    ProtobufMessage message;
    message.number(1, object.address);
    message.number(2, object.type + std::uint64_t{1});
    message.number(3, snapshot_.bytes_of(object));
    add_references(references_, message);
    add(2, message);
  }

  // An object for the location, with the variables as fields. Its id cannot be an address, because
  // addresses are greater than the number of locations.
  void put_root(std::size_t number) {
    const RootGroup& group = groups_[number];
    references_.clear();
    for (const std::uint32_t root : group.roots) {
      const snapshot::Root& one = snapshot_.roots[root];
      const std::string& name = one.symbol.empty() ? one.variable : one.symbol;
      const std::uint64_t text = name.empty() ? element_ : strings_.number_of(name);
      references_.push_back({text + 1, snapshot_.objects[one.to].address});
    }
    const std::uint64_t id = number + 1;
    ProtobufMessage message;
    message.number(1, id);
    message.number(2, snapshot_.types.size() + 1 + number);
    add_references(references_, message);
    add(2, message);
    ProtobufMessage held;
    held.varint(id);
    ProtobufMessage root;
    root.message(1, held);
    root.number(2, static_cast<std::uint64_t>(root_kind(group.kind).java));
    add(7, root);
  }

  void put_type(std::uint64_t id, std::string_view name) {
    constexpr std::uint64_t kNormal = 1;
    ProtobufMessage message;
    message.number(1, id);
    message.bytes(3, terminal_text(name));
    message.number(7, kNormal);
    add(9, message);
  }
  void put_types() {
    std::uint64_t id = 0;
    for (const snapshot::Type& type : snapshot_.types) put_type(++id, shown_type_name(type.name));
    for (const RootGroup& group : groups_) put_type(++id, fmt::format("({})", group.label));
  }

  const Snapshot& snapshot_;
  ExportStream& out_;
  const Moment& moment_;
  std::vector<RootGroup> groups_;
  HeapsnapshotStrings strings_;
  std::vector<HeapsnapshotEdgeNames> names_;  // by type
  std::uint32_t element_ = 0;
  std::vector<Reference> references_;
  ProtobufMessage graph_;
  std::uint64_t index_ = 0;
};

std::uint64_t add_stack(const Snapshot& snapshot, const snapshot::Stack& stack, Callstacks& names) {
  for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame) {
    const snapshot::Place& place = snapshot.places[frame->place];
    const auto push = [&](const snapshot::CodeLine& at) {
      const std::string unknown = fmt::format("0x{:x}", place.pc);
      names.push(names.frame({at.function.empty() ? unknown : at.function, at.file, at.line,
                              place.module, place.offset}));
    };
    push(place.at);
    for (auto line = place.inlined.rbegin(); line != place.inlined.rend(); ++line) push(*line);
  }
  return names.finish_stack();
}

void put_thread(ExportStream& out,
                const Moment& moment,
                const snapshot::Thread& thread,
                std::uint64_t stack) {
  ProtobufMessage sample;
  sample.number(2, static_cast<std::uint64_t>(moment.pid));
  sample.number(3, static_cast<std::uint64_t>(thread.tid));
  sample.number(4, stack);
  put_packet(out, moment, kPerfSample, sample, Names::Defined);
}

void put_fiber(ExportStream& out, const Moment& moment, std::uint64_t number, std::uint64_t stack) {
  ProtobufMessage context;
  context.number(2, static_cast<std::uint64_t>(moment.pid));
  context.number(4, number);
  ProtobufMessage sample;
  sample.message(1, context);
  sample.number(6, stack);
  put_packet(out, moment, kStackSample, sample, Names::Defined);
}

// A fiber that runs on a thread has the thread's stack.
void put_stacks(ExportStream& out, const Moment& moment, const Snapshot& snapshot) {
  Callstacks names;
  std::vector<std::uint64_t> stacks;
  for (const snapshot::Stack& stack : snapshot.stacks) {
    stacks.push_back(add_stack(snapshot, stack, names));
  }
  for (std::size_t i = 0; i < snapshot.fibers.size(); ++i) {
    const snapshot::Fiber& fiber = snapshot.fibers[i];
    if (!fiber.stack) continue;
    names.fiber(i + 1, fiber.name.empty() ? fmt::format("0x{:x}", fiber.address) : fiber.name);
  }
  names.put(out, moment);
  for (const snapshot::Thread& thread : snapshot.threads) {
    if (thread.stack) put_thread(out, moment, thread, stacks[*thread.stack]);
  }
  for (std::size_t i = 0; i < snapshot.fibers.size(); ++i) {
    const snapshot::Fiber& fiber = snapshot.fibers[i];
    if (fiber.stack) put_fiber(out, moment, i + 1, stacks[*fiber.stack]);
  }
}

}  // namespace

Result<void> write_perfetto(const Snapshot& snapshot, Sink& sink, const ExportOptions& options) {
  ExportStream out(sink, options);
  const snapshot::Header& header = snapshot.header;
  Moment moment = moment_of(header.pid, header.exe, header.captured);
  moment.resource = &header.resource;
  ProtobufMessage threads;
  for (const snapshot::Thread& thread : snapshot.threads) {
    threads.message(2, thread_message(thread.tid, header.pid, thread.name));
  }
  // The importer refuses clocks that go backwards, as they do if a later snapshot comes first.
  if (!options.is_later) put_clocks(out, moment);
  put_start(out, moment, std::move(threads));
  HeapGraph(snapshot, out, moment).put();
  put_stacks(out, moment, snapshot);
  return out.finish();
}

}  // namespace heapattach
