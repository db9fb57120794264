#include "report/format/write/json_lines.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "report/format/write/gzip.h"
#include "report/format/write/json_frames.h"
#include "report/format/write/json_objects.h"
#include "report/format/write/json_record.h"
#include "report/format/write/json_waits.h"
#include "report/short_names.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;

constexpr std::size_t kFlushBytes = std::size_t{512} << 10U;

// Collects the records that are not objects, and writes them before they grow large.
class RecordWriter {
 public:
  RecordWriter(Sink& sink, const JsonLinesOptions& options) : sink_(sink), options_(options) {}

  Result<void> add(JsonRecord record) {
    text_ += std::move(record).line();
    if (text_.size() < kFlushBytes) return {};
    return flush();
  }

  Result<void> flush() {
    HA_TRY(sink_.write(options_.with_gzip ? gzip_.compress(text_) : std::string_view(text_)));
    text_.clear();
    return {};
  }

 private:
  Sink& sink_;
  const JsonLinesOptions& options_;
  GzipMembers gzip_;
  std::string text_;
};

JsonRecord heap_record(const snapshot::Heap& heap) {
  JsonRecord record;
  record.text("name", heap.name);
  record.text_unless_empty("version", heap.version);
  record.text_unless_empty("layout", heap.layout);
  record.boolean("collecting", heap.collecting);
  record.number("collections", heap.collections);
  record.number("heap_bytes", heap.heap_bytes);
  record.number("free_bytes", heap.free_bytes);
  record.number("unmapped_bytes", heap.unmapped_bytes);
  record.number("leaked_bytes", heap.leaked_bytes);
  for (const heap::Fact& fact : heap.facts) {
    const auto& saved = heap::kUnsearched;
    if (std::find(saved.begin(), saved.end(), fact.key) != saved.end()) {
      record.number(fact.key, fact.number);
    }
  }
  record.lossy_if(heap.is_lossy);
  return record;
}

JsonRecord typed_record(const snapshot::TypedBytes& typed) {
  JsonRecord record;
  record.number("header", typed.header);
  record.number("referrer", typed.referrer);
  record.number("vtable", typed.vtable);
  record.number("unknown", typed.unknown);
  return record;
}

JsonRecord marked_record(const snapshot::MarkedConservatively& marked) {
  JsonRecord record;
  record.number("objects", marked.objects);
  record.number("bytes", marked.bytes);
  return record;
}

JsonRecord header_record(const Snapshot& snapshot) {
  const snapshot::Header& header = snapshot.header;
  JsonRecord record("snapshot");
  record.number("version", 1);
  record.text_unless_empty("tool", header.tool);
  record.number("pid", header.pid);
  record.text_unless_empty("host", header.host);
  record.text_unless_empty("exe", header.exe);
  record.text_unless_empty("build_id", header.build_id);
  record.attributes_unless_empty("resource", header.resource);
  record.text_unless_empty("started", header.started);
  record.text_unless_empty("captured", header.captured);
  record.text_unless_empty("source", header.source);
  if (header.pause_ms) record.raw("pause_ms", fmt::format("{:.3f}", *header.pause_ms));
  for (const snapshot::Heap& heap : snapshot.heaps) {
    const bool is_first = &heap == &snapshot.heaps.front();
    record.object(is_first ? "collector" : heap.kind().key, heap_record(heap));
  }
  if (header.typed) record.object("typed", typed_record(*header.typed));
  if (header.marked_conservatively) {
    record.object("marked_conservatively", marked_record(*header.marked_conservatively));
  }
  record.text_unless_empty("runtime", header.runtime);
  record.text_unless_empty("redacted", header.redacted);
  record.boolean("live_only", header.live_only);
  add_findings(header, record);
  record.lossy_if(header.is_lossy);
  return record;
}

// A type, and the fields of all rows that have its name.
struct NamedType {
  const snapshot::Type* type = nullptr;
  std::vector<snapshot::Type::Field> fields;
};

JsonRecord type_record(const NamedType& named) {
  const snapshot::Type& type = *named.type;
  JsonRecord record("type");
  record.text("name", type.name);
  if (std::string name = short_type_name(type.name); name != type.name) record.text("short", name);
  record.number("id", type.id);
  record.number("bytes", type.instance_bytes);
  record.text_unless_empty("holder", type.holder);
  record.text_unless_empty("guess", type.guess);
  record.lossy_if(type.is_lossy);
  record.list_unless_empty("known_from", type.known_from);
  if (!named.fields.empty()) {
    record.open_list("fields");
    for (const snapshot::Type::Field& field : named.fields) {
      JsonRecord inner;
      inner.text("name", field.name);
      inner.number("offset", field.offset);
      inner.number("bytes", field.bytes);
      inner.text_unless_empty("type", field.type);
      if (field.is_unread) inner.boolean("unread", true);
      inner.lossy_if(field.is_lossy);
      record.item(std::move(inner));
    }
    record.close_list();
  }
  return record;
}

JsonRecord thread_record(const Snapshot& snapshot, const snapshot::Thread& thread) {
  JsonRecord record("thread");
  record.number("tid", thread.tid);
  record.text_unless_empty("name", thread.name);
  if (thread.state != '?') record.text("state", {&thread.state, 1});
  add_waits(snapshot, thread, record);
  if (thread.stack) add_stack(snapshot, snapshot.stacks.at(*thread.stack), record);
  record.lossy_if(thread.is_lossy);
  return record;
}

JsonRecord fiber_record(const Snapshot& snapshot,
                        const snapshot::Fiber& fiber,
                        FiberFrames& frames) {
  JsonRecord record("fiber");
  record.address("address", fiber.address);
  record.text_unless_empty("name", fiber.name);
  add_waits(snapshot, fiber, record);
  frames.add(fiber, record);
  record.lossy_if(fiber.is_lossy);
  return record;
}

JsonRecord root_record(const Snapshot& snapshot, const snapshot::Root& root) {
  JsonRecord record("root");
  record.text("kind", snapshot::root_kind(root.kind).key);
  if (root.thread) record.number("thread", *root.thread);
  if (root.fiber) record.address("fiber", *root.fiber);
  record.number("frame", root.frame);
  record.text_unless_empty("variable", root.variable);
  record.number("inlined", root.inlined);
  add_root_symbol(root, record);
  record.text_unless_empty("module", root.module);
  if (root.address != 0) record.address("address", root.address);
  if (root.is_below_stack_pointer) record.boolean("below_stack_pointer", true);
  record.address("to", snapshot.objects.at(root.to).address);
  record.lossy_if(root.is_lossy);
  return record;
}

void add_fields(const snapshot::Type& type, std::vector<snapshot::Type::Field>& fields) {
  for (const snapshot::Type::Field& field : type.fields) {
    const bool is_known = std::any_of(fields.begin(), fields.end(), [&](const auto& known) {
      return known.offset == field.offset && known.name == field.name;
    });
    if (!is_known) fields.push_back(field);
  }
  std::stable_sort(fields.begin(), fields.end(),
                   [](const auto& a, const auto& b) { return a.offset < b.offset; });
}

// If several rows have one name, such as the entries and the indices of a hash, the most
// informative one: the first with fields, otherwise the first. Rows of one size may be those of a
// structure whose fields differ from instance to instance.
std::vector<NamedType> one_of_each_name(const std::vector<snapshot::Type>& types) {
  std::vector<NamedType> chosen;
  std::unordered_map<std::string_view, std::size_t> by_name;
  for (const snapshot::Type& type : types) {
    if (type.name.empty()) continue;
    const auto [at, is_new] = by_name.try_emplace(type.name, chosen.size());
    if (is_new) {
      chosen.push_back({&type, type.fields});
      continue;
    }
    NamedType& known = chosen[at->second];
    if (known.fields.empty() && !type.fields.empty()) {
      known = {&type, type.fields};
    } else if (known.type->instance_bytes == type.instance_bytes) {
      add_fields(type, known.fields);
    }
  }
  return chosen;
}

Result<void> write_head(const Snapshot& snapshot, RecordWriter& out) {
  HA_TRY(out.add(header_record(snapshot)));
  for (const auto& type : one_of_each_name(snapshot.types)) HA_TRY(out.add(type_record(type)));
  for (const auto& thread : snapshot.threads) HA_TRY(out.add(thread_record(snapshot, thread)));
  FiberFrames frames(snapshot);
  for (const auto& fiber : snapshot.fibers) {
    HA_TRY(out.add(fiber_record(snapshot, fiber, frames)));
  }
  for (const auto& root : snapshot.roots) HA_TRY(out.add(root_record(snapshot, root)));
  return out.flush();
}

JsonRecord end_record(const Snapshot& snapshot, const JsonLinesWritten& written) {
  JsonRecord record("end");
  record.boolean("complete", snapshot.complete && written.in_time);
  if (!written.in_time) {
    record.text("reason", "the deadline passed while the snapshot was written");
  } else {
    record.text_unless_empty("reason", snapshot.complete ? "" : snapshot.reason);
  }
  record.number("objects", written.objects);
  record.number("bytes", written.bytes);
  record.number("roots", snapshot.roots.size());
  record.number("skipped", snapshot.skipped);
  return record;
}

}  // namespace

Result<JsonLinesWritten> write_json_lines(const Snapshot& snapshot,
                                          Sink& sink,
                                          const JsonLinesOptions& options) {
  RecordWriter records(sink, options);
  HA_TRY(write_head(snapshot, records));
  const JsonLinesWritten written = HA_TRY(write_json_objects(snapshot, sink, options));
  HA_TRY(records.add(end_record(snapshot, written)));
  HA_TRY(records.flush());
  return written;
}

}  // namespace heapattach
