// The lines of Ruby's ObjectSpace.dump_all, for sheap, heapy and harb: one JSON object for each
// root, class and object. Their readers are not full JSON parsers, and need this:
//
// - no space after a colon, "references" separated by a comma and a space, `memsize` not last
//   (sheap parses lines with regular expressions)
// - addresses that are not 0, in lower-case hex; the class of an object is a line of its own
// - the name of a root from a-z and _
//
// A type becomes a class at an address that no object can have, and its objects OBJECTs of it; only
// a text whose value was requested is a STRING. Classes take no memory, so sums stay the heap's.
// `file` and `line`, which heapy's per-line report needs, are unknown.

#include <algorithm>

#include <fmt/format.h>

#include "attach/arch/addresses.h"
#include "report/format/export/root_groups.h"
#include "report/format/export/stream.h"
#include "report/format/export/text_values.h"
#include "report/text/json_text.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;

constexpr std::uint64_t kBytesOfClass = 16;

bool has_objects(const Snapshot& snapshot, std::uint64_t start, std::uint64_t end) {
  const auto next = std::lower_bound(
      snapshot.objects.begin(), snapshot.objects.end(), start,
      [](const snapshot::Object& one, std::uint64_t at) { return one.address < at; });
  return next != snapshot.objects.end() && next->address < end;
}

// Where the classes begin: at an address where there are no objects, and which our own reader
// accepts. On x86-64, programs get nothing in the upper half of the addresses.
std::uint64_t place_for_classes(const Snapshot& snapshot) {
  const std::uint64_t bytes = kBytesOfClass * (snapshot.types.size() + 1);
  std::uint64_t place = kUsualAddressEnd / 2;
  while (place > bytes && has_objects(snapshot, place, place + bytes)) place /= 2;
  return place;
}

class References {
 public:
  explicit References(ExportStream& out) : out_(out) {}
  void add(std::uint64_t address) {
    out_.put(is_first_ ? ", \"references\":[\"0x" : ", \"0x");
    is_first_ = false;
    out_.put_hex(address);
    out_.put('"');
  }
  void end() {
    if (!is_first_) out_.put(']');
  }

 private:
  ExportStream& out_;
  bool is_first_ = true;
};

class Writer {
 public:
  Writer(const Snapshot& snapshot, Sink& sink, const ExportOptions& options)
      : snapshot_(snapshot),
        out_(sink, options),
        values_(snapshot),
        classes_(place_for_classes(snapshot)) {}

  Result<void> write() && {
    put_roots();
    put_classes();
    for (std::size_t i = 0; i < snapshot_.objects.size() && !out_.has_failed(); ++i) {
      if (is_counted(snapshot_, snapshot_.objects[i])) put_object(i);
      if (i % 65536 == 0) out_.progress(i);
    }
    return out_.finish();
  }

 private:
  void put_roots() {
    for (const RootGroup& group : group_roots(snapshot_)) {
      out_.put(fmt::format("{{\"type\":\"ROOT\", \"root\":\"{}\"",
                           snapshot::root_kind(group.kind).name));
      References references(out_);
      for (const std::uint32_t root : group.roots) {
        references.add(snapshot_.objects[snapshot_.roots[root].to].address);
      }
      references.end();
      out_.put("}\n");
    }
  }

  void put_classes() {
    for (std::size_t type = 0; type < snapshot_.types.size(); ++type) {
      if (snapshot_.types[type].name.empty()) continue;
      std::string name;
      append_json_string(name, snapshot_.types[type].name);
      out_.put(
          fmt::format("{{\"address\":\"{:#x}\", \"type\":\"CLASS\", \"name\":{}, \"memsize\":0, "
                      "\"flags\":{{}}}}\n",
                      classes_ + kBytesOfClass * type, name));
    }
  }

  void put_object(std::size_t index) {
    const snapshot::Object& object = snapshot_.objects[index];
    const auto text = values_.own_text(static_cast<snapshot::ObjectIndex>(index));
    out_.put("{\"address\":\"0x");
    out_.put_hex(object.address);
    out_.put(text ? "\", \"type\":\"STRING\", \"class\":\"0x"
                  : "\", \"type\":\"OBJECT\", \"class\":\"0x");
    out_.put_hex(classes_ + kBytesOfClass * object.type);
    out_.put('"');
    if (text) {
      std::string quoted;
      append_json_string(quoted, *text);
      out_.put(", \"value\":");
      out_.put(quoted);
    }
    References references(out_);
    for (const snapshot::Edge& edge : snapshot_.edges_of(index)) {
      references.add(snapshot_.objects[edge.to].address);
    }
    references.end();
    out_.put(", \"memsize\":");
    out_.put_decimal(snapshot_.bytes_of(object));
    out_.put(", \"flags\":{}}\n");
  }

  const Snapshot& snapshot_;
  ExportStream out_;
  TextValues values_;
  std::uint64_t classes_;
};

}  // namespace

Result<void> write_ruby(const Snapshot& snapshot, Sink& sink, const ExportOptions& options) {
  return Writer(snapshot, sink, options).write();
}

}  // namespace heapattach
