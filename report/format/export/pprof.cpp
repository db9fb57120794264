// pprof's profile.proto, as `go tool pprof` reads it: a gzip of one message Profile. A sample is a
// path of the tree of types (the type first, its holder's type next, the location of the root last)
// with two values, objects and bytes. Locations, functions and strings are the frames.
//
// Facts about the reader that shaped this:
// - Ids are not 0, each sample has as many values as there are sample types, a line has a function.
// - If a function's system_name equals its name, C++ arguments are removed from it, and
//   `Hash(String, Foo | Nil)` becomes `Hash`. Without system_name the name is kept.
// - One mapping with has_functions keeps it from looking for the program and its symbols.
// - Pyroscope merges profiles by the type of their period, and shows these types as a Go program's
//   heap; Parca wants ids of mappings, locations and functions that count from 1.
// - Recursion counts once per sample in `cum`, as it does in the tree.
// - Fields may come in any order, so samples are written as they are found, strings last. For
//   repeated numbers, packed is shorter than plain.

#include <fmt/format.h>

#include "report/format/export/pprof_fields.h"
#include "report/format/export/type_tree.h"
#include "report/format/export/unix_time.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using namespace pprof;  // NOLINT(google-build-using-namespace): numbers of fields

// The string table: fixed ones, then those about this snapshot, the frames, and the names and
// values of the attributes of the process, which are labels of each sample.
enum String : std::uint32_t {
  kEmpty,
  kObjects,
  kCount,
  kSpace,
  kBytes,
  kType,
  kRoot,
  kExe,
  kBuildId,
  kPeriodSpace,
  kHowToRead,
  kPartial,
  kFirstFrame,
};

void put_head(ExportStream& out, const snapshot::Snapshot& snapshot) {
  for (const auto& [type, unit] : {std::pair(kObjects, kCount), std::pair(kSpace, kBytes)}) {
    ProtobufMessage value_type;
    value_type.number(1, type);
    value_type.number(2, unit);
    put_message(out, kSampleType, value_type);
  }
  ProtobufMessage mapping;
  mapping.number(1, 1);
  mapping.number(5, kExe);
  mapping.number(6, kBuildId);
  mapping.number(7, 1);  // has_functions
  put_message(out, kMapping, mapping);
  ProtobufMessage period_type;
  period_type.number(1, kPeriodSpace);
  period_type.number(2, kBytes);
  put_message(out, kPeriodType, period_type);
  ProtobufMessage rest;
  rest.number(kPeriod, 1);  // each byte is counted
  rest.number(kTimeNanos, unix_nanoseconds(snapshot.header.captured));
  rest.number(kComment, kHowToRead);
  if (!snapshot.complete) rest.number(kComment, kPartial);
  rest.number(kDefaultSampleType, kSpace);
  out.put(rest.text());
}

void put_label(ProtobufMessage& sample, std::uint32_t key, std::uint64_t text) {
  ProtobufMessage label;
  label.number(1, key);
  label.number(2, text);
  sample.message(3, label);
}

// A location and a function share the number of their frame.
void put_samples(ExportStream& out, const TypeTree& tree, const Attributes& resource) {
  const std::uint64_t first_attribute = kFirstFrame + tree.frames.size();
  for (TypeTree::NodeIndex node = 1; node < tree.nodes.size() && !out.has_failed(); ++node) {
    const TypeTree::Node& counted = tree.nodes[node];
    if (counted.objects == 0) continue;
    ProtobufMessage locations;
    TypeTree::FrameIndex outermost = 0;
    for (auto at = node; at != 0; at = tree.nodes[at].parent) {
      outermost = tree.nodes[at].frame;
      locations.varint(outermost);
    }
    ProtobufMessage values;
    values.varint(counted.objects);
    values.varint(counted.bytes);
    ProtobufMessage sample;
    sample.message(1, locations);
    sample.message(2, values);
    put_label(sample, kType, kFirstFrame + std::uint64_t{counted.frame});
    put_label(sample, kRoot, kFirstFrame + std::uint64_t{outermost});
    for (std::size_t i = 0; i < resource.size(); ++i) {
      const auto key = static_cast<std::uint32_t>(first_attribute + 2 * i);
      put_label(sample, key, key + std::uint64_t{1});
    }
    put_message(out, kSample, sample);
  }
}

void put_frames(ExportStream& out, const TypeTree& tree) {
  for (std::size_t frame = 1; frame < tree.frames.size() && !out.has_failed(); ++frame) {
    ProtobufMessage line;
    line.number(1, frame);
    ProtobufMessage location;
    location.number(1, frame);
    location.number(2, 1);
    location.message(4, line);
    put_message(out, kLocation, location);
    ProtobufMessage function;
    function.number(1, frame);
    function.number(2, kFirstFrame + frame);
    put_message(out, kFunction, function);
  }
}

void put_strings(ExportStream& out, const snapshot::Snapshot& snapshot, const TypeTree& tree) {
  ProtobufMessage strings;
  for (const char* text : {"", "inuse_objects", "count", "inuse_space", "bytes", "type", "root"}) {
    strings.bytes(kStringTable, text);
  }
  strings.bytes(kStringTable, snapshot.header.exe);
  strings.bytes(kStringTable, snapshot.header.build_id);
  strings.bytes(kStringTable, "space");
  strings.bytes(
      kStringTable,
      "Stacks are chains of dominators: the frames before a frame would be freed with it.");
  strings.bytes(kStringTable, "Partial: " + snapshot.reason);
  out.put(strings.text());
  for (const std::string& frame : tree.frames) {
    ProtobufMessage string;
    string.bytes(kStringTable, frame);
    out.put(string.text());
  }
  ProtobufMessage attributes;
  for (const Attribute& one : snapshot.header.resource) {
    attributes.bytes(kStringTable, terminal_text(one.name));
    attributes.bytes(kStringTable, terminal_text(one.value));
  }
  out.put(attributes.text());
}

}  // namespace

Result<void> write_pprof(const snapshot::Snapshot& snapshot,
                         Sink& sink,
                         const ExportOptions& options) {
  const TypeTree tree = make_type_tree(snapshot);
  ExportStream out(sink, options, true);
  put_head(out, snapshot);
  put_samples(out, tree, snapshot.header.resource);
  put_frames(out, tree);
  put_strings(out, snapshot, tree);
  return out.finish();
}

}  // namespace heapattach
