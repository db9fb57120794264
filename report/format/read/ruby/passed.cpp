#include "report/format/read/ruby/passed.h"

#include <algorithm>
#include <utility>

#include "attach/base/check.h"
#include "attach/base/plain_bytes.h"

namespace heapattach::ruby {

namespace {

using snapshot::Object;
using snapshot::Root;
using snapshot::Snapshot;
using snapshot::Type;

constexpr std::size_t kLongestText = std::size_t{1} << 20;
// No head is larger, whatever it claims.
constexpr std::uint64_t kMostHead = std::uint64_t{8} << 30;
// Arrays grow in steps of this size, so that a false size costs no more.
constexpr std::size_t kAtOnce = std::size_t{64} << 20;

Error makes_no_sense() {
  return {ErrorKind::Malformed, "the worker that read the dump returned an invalid result"};
}

void put(const Type& type, PlainWriter& out) {
  out.text(type.name);
  out.optional(type.id);
  out.optional(type.instance_bytes);
  out.list(type.known_from, [&](const std::string& text) { out.text(text); });
  out.number(static_cast<std::uint8_t>(type.typed_by));
  out.text(type.holder);
  out.list(type.keys, [&](const Type::Key& key) {
    out.text(key.before);
    out.text(key.after);
    out.number(key.unit);
  });
  out.list(type.value_paths, [&](const std::string& path) { out.text(path); });
  out.flag(type.is_lossy);
}

// The keys without a number come first, and an edge may have any number: then there are others.
bool are_in_order(const std::vector<Type::Key>& keys) {
  const auto is_plain = [](const Type::Key& key) { return key.unit == 0; };
  return keys.empty() ||
         (!is_plain(keys.back()) && std::is_partitioned(keys.begin(), keys.end(), is_plain));
}

Type type_of(PlainReader& in) {
  Type type;
  type.name = in.text(kLongestText);
  type.id = in.optional<std::uint32_t>();
  type.instance_bytes = in.optional<std::uint64_t>();
  in.list([&] { type.known_from.emplace_back(in.text(kLongestText)); });
  const auto typed_by = in.number<std::uint8_t>();
  in.fail_unless(typed_by <= static_cast<std::uint8_t>(snapshot::TypedBy::Referrer));
  type.typed_by = static_cast<snapshot::TypedBy>(typed_by);
  type.holder = in.text(kLongestText);
  in.list([&] {
    Type::Key& key = type.keys.emplace_back();
    key.before = in.text(kLongestText);
    key.after = in.text(kLongestText);
    key.unit = in.number<std::uint32_t>();
  });
  in.fail_unless(!type.name.empty() && are_in_order(type.keys));
  in.list([&] { type.value_paths.emplace_back(in.text(kLongestText)); });
  type.is_lossy = in.flag();
  return type;
}

void put(const Root& root, PlainWriter& out) {
  out.number(static_cast<std::uint8_t>(root.kind));
  out.text(root.symbol);
  out.number(root.to);
}

Root root_of(PlainReader& in) {
  Root root;
  const auto kind = in.number<std::uint8_t>();
  in.fail_unless(kind < snapshot::kRootKinds.size());
  root.kind = static_cast<snapshot::RootKind>(kind);
  root.symbol = in.text(kLongestText);
  root.to = in.number<snapshot::ObjectIndex>();
  return root;
}

void put(const snapshot::ValuePiece& piece, PlainWriter& out) {
  out.number(piece.first_object);
  out.list(piece.first_value, [&](std::uint32_t first) { out.number(first); });
  out.list(piece.values, [&](const snapshot::Value& value) {
    out.number(value.at);
    out.number(value.bytes);
    out.number(value.path);
    out.flag(value.is_text);
    out.flag(value.is_cut);
  });
  out.text(piece.text);
}

snapshot::ValuePiece values_of(PlainReader& in) {
  snapshot::ValuePiece piece;
  piece.first_object = in.number<std::uint32_t>();
  in.list([&] { piece.first_value.push_back(in.number<std::uint32_t>()); });
  in.list([&] {
    snapshot::Value& value = piece.values.emplace_back();
    value.at = in.number<std::uint64_t>();
    value.bytes = in.number<std::uint32_t>();
    value.path = in.number<std::uint32_t>();
    value.is_text = in.flag();
    value.is_cut = in.flag();
  });
  piece.text = in.text(in.left());
  in.fail_unless(std::is_sorted(piece.first_value.begin(), piece.first_value.end()) &&
                 !piece.first_value.empty() && piece.first_value.back() == piece.values.size());
  for (const snapshot::Value& value : piece.values) {
    in.fail_unless(value.at <= piece.text.size() && value.bytes <= piece.text.size() - value.at);
  }
  return piece;
}

void pass_sized(PlainWriter& writer, const PassBytes& pass) {
  const std::vector<std::byte> bytes = writer.take();
  const std::uint64_t size = bytes.size();
  pass(std::as_bytes(std::span(&size, 1)));
  pass(bytes);
}

template <class Array>
Result<Array> take_array(const TakeBytes& take, std::uint64_t count) {
  Array array;
  constexpr std::size_t kStep = kAtOnce / sizeof(typename Array::value_type);
  while (array.size() < count) {
    const std::size_t before = array.size();
    array.resize(before + std::min<std::uint64_t>(kStep, count - before));
    HA_TRY(take(std::as_writable_bytes(std::span(array).subspan(before))));
  }
  return array;
}

Result<std::vector<std::byte>> take_sized(const TakeBytes& take) {
  std::uint64_t size = 0;
  HA_TRY(take(std::as_writable_bytes(std::span(&size, 1))));
  if (size > kMostHead) return makes_no_sense();
  return take_array<std::vector<std::byte>>(take, size);
}

// Whether the arrays fit each other, the types and the sizes.
bool makes_sense(const Snapshot& snapshot) {
  const auto is_object = [&](const auto& one) { return one.to < snapshot.objects.size(); };
  std::uint64_t last = 0;
  for (const Object& object : snapshot.objects) {
    const std::uint64_t address = object.address;
    if (address <= last || object.type >= snapshot.types.size() ||
        object.size_class >= snapshot.sizes.size()) {
      return false;
    }
    last = address;
  }
  const auto& first = snapshot.first_edge;
  const bool has_edges = !first.empty();
  if (has_edges &&
      (first.size() != snapshot.objects.size() + 1 || first.front() != 0 ||
       first.back() != snapshot.edges.size() || !std::is_sorted(first.begin(), first.end()))) {
    return false;
  }
  return (has_edges || snapshot.edges.empty()) && !snapshot.objects.empty() &&
         std::all_of(snapshot.edges.begin(), snapshot.edges.end(), is_object) &&
         std::all_of(snapshot.roots.begin(), snapshot.roots.end(), is_object);
}

// Whether the paths are those of the objects' types.
bool paths_make_sense(const Snapshot& snapshot, const snapshot::ValuePiece& piece) {
  for (std::size_t i = 0; i + 1 < piece.first_value.size(); ++i) {
    const auto object = static_cast<std::uint32_t>(piece.first_object + i);
    const Type& type = snapshot.types[snapshot.objects[object].type];
    for (const snapshot::Value& value : piece.of(object)) {
      const bool is_path =
          value.path == snapshot::Value::kOwn || value.path < type.value_paths.size();
      if (!is_path) return false;
    }
  }
  return true;
}

bool values_make_sense(const Snapshot& snapshot) {
  std::uint64_t next = 0;
  for (const snapshot::ValuePiece& piece : snapshot.values) {
    const std::uint64_t end = piece.first_object + piece.first_value.size() - 1;
    if (piece.first_object < next || end > snapshot.objects.size()) return false;
    if (!paths_make_sense(snapshot, piece)) return false;
    next = end;
  }
  return true;
}

struct Counts {
  std::uint64_t objects = 0;
  std::uint64_t first_edges = 0;
  std::uint64_t edges = 0;
  std::uint64_t values = 0;
};

void put_head(const Snapshot& snapshot, PlainWriter& head) {
  head.text(snapshot.header.source);
  head.flag(snapshot.complete);
  head.text(snapshot.reason);
  head.number(snapshot.skipped);
  head.optional(snapshot.header.typed);
  head.list(snapshot.types, [&](const Type& type) { put(type, head); });
  head.list(snapshot.sizes, [&](std::uint64_t size) { head.number(size); });
  head.list(snapshot.roots, [&](const Root& root) { put(root, head); });
  head.number(Counts{snapshot.objects.size(), snapshot.first_edge.size(), snapshot.edges.size(),
                     snapshot.values.size()});
}

Counts take_head(PlainReader& head, Snapshot& snapshot) {
  snapshot.header.source = head.text(kLongestText);
  snapshot.header.runtime = "ruby";
  snapshot.complete = head.flag();
  snapshot.reason = head.text(kLongestText);
  snapshot.skipped = head.number<std::uint64_t>();
  snapshot.header.typed = head.optional<snapshot::TypedBytes>();
  head.list([&] { snapshot.types.push_back(type_of(head)); });
  head.list([&] { snapshot.sizes.push_back(head.number<std::uint64_t>()); });
  head.list([&] { snapshot.roots.push_back(root_of(head)); });
  return head.number<Counts>();
}

Result<Snapshot> take_rest(const TakeBytes& take,
                           const Counts& counts,
                           std::uint64_t most,
                           Snapshot snapshot) {
  if (std::max({counts.objects, counts.first_edges, counts.edges, counts.values}) > most) {
    return makes_no_sense();
  }
  snapshot.objects = HA_TRY(take_array<decltype(snapshot.objects)>(take, counts.objects));
  snapshot.first_edge = HA_TRY(take_array<decltype(snapshot.first_edge)>(take, counts.first_edges));
  snapshot.edges = HA_TRY(take_array<decltype(snapshot.edges)>(take, counts.edges));
  if (!makes_sense(snapshot)) return makes_no_sense();
  for (std::uint64_t i = 0; i < counts.values; ++i) {
    const auto bytes = HA_TRY(take_sized(take));
    PlainReader in(bytes);
    snapshot.values.push_back(values_of(in));
    if (!in.is_good() || in.left() != 0) return makes_no_sense();
  }
  if (!values_make_sense(snapshot)) return makes_no_sense();
  return snapshot;
}

}  // namespace

void pass_snapshot(const Result<Snapshot>& read,
                   const std::vector<std::string>& notes,
                   const PassBytes& pass) {
  PlainWriter head;
  head.list(notes, [&](const std::string& note) { head.text(note); });
  head.flag(read.has_value());
  if (!read) {
    head.number(static_cast<std::uint8_t>(read.error().kind));
    head.text(read.error().message());
    pass_sized(head, pass);
    return;
  }
  const Snapshot& snapshot = *read;
  HA_CHECK(snapshot.threads.empty() && snapshot.stacks.empty() && !snapshot.contents);
  put_head(snapshot, head);
  pass_sized(head, pass);
  pass(std::as_bytes(std::span(snapshot.objects)));
  pass(std::as_bytes(std::span(snapshot.first_edge)));
  pass(std::as_bytes(std::span(snapshot.edges)));
  for (const snapshot::ValuePiece& piece : snapshot.values) {
    PlainWriter bytes;
    put(piece, bytes);
    pass_sized(bytes, pass);
  }
}

Result<TakenSnapshot> take_snapshot_passed(const TakeBytes& take, std::uint64_t most) {
  const auto bytes = HA_TRY(take_sized(take));
  PlainReader head(bytes);
  TakenSnapshot taken{Error{ErrorKind::Malformed, ""}, {}};
  head.list([&] { taken.notes.emplace_back(head.text(kLongestText)); });
  if (!head.flag()) {
    const auto kind = head.number<std::uint8_t>();
    const std::string message(head.text(kLongestText));
    if (!head.is_good() || head.left() != 0) return makes_no_sense();
    // Only these are a reader's.
    const bool is_time = kind == static_cast<std::uint8_t>(ErrorKind::Timeout);
    const bool is_other = kind == static_cast<std::uint8_t>(ErrorKind::Unsupported);
    taken.snapshot = Error{is_time    ? ErrorKind::Timeout
                           : is_other ? ErrorKind::Unsupported
                                      : ErrorKind::Malformed,
                           message};
    return taken;
  }
  Snapshot snapshot;
  const Counts counts = take_head(head, snapshot);
  if (!head.is_good() || head.left() != 0) return makes_no_sense();
  taken.snapshot = HA_TRY(take_rest(take, counts, most, std::move(snapshot)));
  return taken;
}

}  // namespace heapattach::ruby
