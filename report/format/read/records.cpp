#include "report/format/read/records.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "report/format/read/json_fields.h"
#include "report/format/read/waits.h"
#include "report/model/frame_words.h"
#include "symbols/text/json_cursor.h"

namespace heapattach::read {

namespace {

bool read_line(JsonCursor& json, std::string_view key, snapshot::CodeLine& out) {
  if (key == "function") return json.string(out.function);
  if (key == "file") return json.string(out.file);
  if (key == "line") return read_number(json, out.line);
  if (key == "column") return read_number(json, out.column);
  return json.skip();
}

bool read_inlined(JsonCursor& json, snapshot::CodeLine& out) {
  return json.object([&](std::string_view key) {
    if (key == "lossy") return json.boolean(out.is_lossy);
    return read_line(json, key, out);
  });
}

bool read_place(JsonCursor& json, snapshot::Place& place, snapshot::Frame& frame) {
  return json.object([&](std::string_view key) {
    if (key == "pc") return json.address(place.pc);
    if (key == "module") return json.string(place.module);
    if (key == "offset") return json.address(place.offset);
    if (key == "inlined") {
      return json.array([&] { return read_inlined(json, place.inlined.emplace_back()); });
    }
    if (key == "found_by") return read_word(json, snapshot::kFoundByWords, frame.found_by);
    if (key == "lossy") return json.boolean(place.is_lossy);
    return read_line(json, key, place.at);
  });
}

constexpr std::uint64_t kVersion = 1;  // increases only if the meaning of a key changes

bool read_heap(JsonCursor& json, snapshot::Heap& out) {
  out.name.clear();
  return json.object([&](std::string_view key) {
    if (key == "name") return json.string(out.name);
    if (key == "version") return json.string(out.version);
    if (key == "layout") return json.string(out.layout);
    if (key == "collecting") return read_boolean(json, out.collecting);
    if (key == "collections") return read_number(json, out.collections);
    if (key == "heap_bytes") return read_number(json, out.heap_bytes);
    if (key == "free_bytes") return read_number(json, out.free_bytes);
    if (key == "unmapped_bytes") return read_number(json, out.unmapped_bytes);
    if (key == "leaked_bytes") return read_number(json, out.leaked_bytes);
    if (key == "lossy") return json.boolean(out.is_lossy);
    const auto& saved = heap::kUnsearched;
    const auto* const fact = std::find(saved.begin(), saved.end(), key);
    if (fact != saved.end())
      return read_number(json,
                         out.facts.emplace_back(heap::Fact{.key = *fact, .words = {}}).number);
    return json.skip();
  });
}

// The heap with this key in the header, added to `heaps` if it is new; null if the key is not a
// heap's.
snapshot::Heap* heap_at(std::string_view key, std::vector<snapshot::Heap>& heaps) {
  const bool is_first = key == "collector";
  const auto kinds = heap_kinds();
  const auto kind =
      std::find_if(kinds.begin(), kinds.end(), [&](const auto* one) { return one->key == key; });
  if (!is_first && kind == kinds.end()) return nullptr;
  if (heaps.empty()) heaps.emplace_back();
  if (is_first) return &(heaps.front() = snapshot::Heap{});
  const auto known = std::find_if(heaps.begin() + 1, heaps.end(),
                                  [&](const auto& heap) { return heap.kind().key == key; });
  if (known != heaps.end()) return &*known;
  return heaps.size() < snapshot::kMostHeaps ? &heaps.emplace_back() : nullptr;
}

bool read_typed(JsonCursor& json, snapshot::TypedBytes& out) {
  return json.object([&](std::string_view key) {
    if (key == "header") return json.number(out.header);
    if (key == "referrer") return json.number(out.referrer);
    if (key == "vtable") return json.number(out.vtable);
    if (key == "unknown") return json.number(out.unknown);
    return json.skip();
  });
}

bool read_marked(JsonCursor& json, snapshot::MarkedConservatively& out) {
  return json.object([&](std::string_view key) {
    if (key == "objects") return json.number(out.objects);
    if (key == "bytes") return json.number(out.bytes);
    return json.skip();
  });
}

bool read_texts(JsonCursor& json, std::vector<std::string>& out) {
  return json.array([&] { return json.string(out.emplace_back()); });
}

bool read_header_text(JsonCursor& json, std::string_view key, snapshot::Header& out) {
  if (key == "tool") return json.string(out.tool);
  if (key == "host") return json.string(out.host);
  if (key == "exe") return json.string(out.exe);
  if (key == "build_id") return json.string(out.build_id);
  if (key == "resource") return read_attributes(json, out.resource);
  if (key == "started") return json.string(out.started);
  if (key == "captured") return json.string(out.captured);
  if (key == "source") return json.string(out.source);
  if (key == "runtime") return json.string(out.runtime);
  if (key == "redacted") return json.string(out.redacted);
  if (key == "findings") return read_texts(json, out.findings);
  if (key == "remarks") return read_texts(json, out.remarks);
  return json.skip();
}

bool read_field(JsonCursor& json, snapshot::Type::Field& out) {
  return json.object([&](std::string_view key) {
    if (key == "name") return json.string(out.name);
    if (key == "type") return json.string(out.type);
    if (key == "offset") return json.number(out.offset);
    if (key == "bytes") return json.number(out.bytes);
    if (key == "lossy") return json.boolean(out.is_lossy);
    if (key == "unread") return json.boolean(out.is_unread);
    return json.skip();
  });
}

// The source of a buffer's or an unknown object's type does not show whether a header or a vtable
// proved it; the header's sums do (count_objects).
snapshot::TypedBy typed_by(const snapshot::Type& type) {
  if (type.known_from.empty()) return snapshot::TypedBy::Nothing;
  for (const std::string& source : type.known_from) {
    if (source == "vtable") return snapshot::TypedBy::Vtable;
    if (source == "referrer") return snapshot::TypedBy::Referrer;
  }
  return snapshot::TypedBy::Header;
}

}  // namespace

bool Frames::read_frame(JsonCursor& json, snapshot::Stack& out) {
  std::string_view text;
  if (!json.skipped(text)) return false;
  const auto [known, is_new] = known_.try_emplace(std::string(text));
  if (is_new) {
    known->second.place = static_cast<std::uint32_t>(piece_.places.size());
    JsonCursor frame(text);
    if (!read_place(frame, piece_.places.emplace_back(), known->second)) {
      return json.fail("not a frame");
    }
  }
  out.frames.push_back(known->second);
  return true;
}

bool Frames::is_key(std::string_view key) {
  return key == "frames" || key == "left_out" || key == "left_out_behind" || key == "end";
}

bool Frames::read(JsonCursor& json, std::string_view key, RawStack& out) {
  if (key == "frames") {
    out.has_frames = true;
    return json.array([&] { return read_frame(json, out.stack); });
  }
  if (key == "left_out") return json.number(out.stack.left_out);
  if (key == "left_out_behind") return read_number(json, out.stack.left_out_behind);
  if (key == "end") return read_word(json, snapshot::kStackEndWords, out.stack.end);
  return json.skip();
}

std::optional<std::uint32_t> Frames::keep(RawStack stack) {
  if (!stack.has_frames) return {};
  piece_.stacks.push_back(std::move(stack.stack));
  return static_cast<std::uint32_t>(piece_.stacks.size() - 1);
}

std::string Records::kind_of(std::string_view line, std::string& wrong) {
  JsonCursor json(line);
  std::string kind;
  json.object(
      [&](std::string_view key) { return key == "record" ? json.string(kind) : json.skip(); });
  if (!json.at_end()) {
    wrong = json.is_good() ? "unexpected text after the record" : json.error();
    return {};
  }
  if (kind.empty()) wrong = "the key `record` is missing";
  return kind;
}

std::string Records::read(std::string_view kind, std::string_view line) {
  struct Reader {
    std::string_view kind;
    void (Records::*read)(std::string_view line);
  };
  static constexpr std::array<Reader, 6> kReaders{{
      {"snapshot", &Records::read_header},
      {"type", &Records::read_type},
      {"thread", &Records::read_thread},
      {"fiber", &Records::read_fiber},
      {"root", &Records::read_root},
      {"end", &Records::read_end},
  }};
  wrong_.clear();
  for (const Reader& reader : kReaders) {
    if (reader.kind != kind) continue;
    (this->*reader.read)(line);
    return std::move(wrong_);
  }
  ++piece_.skipped_records;
  return {};
}

void Records::read_header(std::string_view line) {
  JsonCursor json(line);
  RawHeader raw;
  snapshot::Header& out = raw.header;
  std::uint64_t version = 0;
  json.object([&](std::string_view key) {
    if (key == "version") return json.number(version);
    if (key == "pid") return read_number(json, out.pid);
    if (key == "pause_ms") return json.number(out.pause_ms.emplace());
    if (snapshot::Heap* const heap = heap_at(key, raw.heaps)) return read_heap(json, *heap);
    if (key == "typed") return read_typed(json, out.typed.emplace());
    if (key == "marked_conservatively") {
      return read_marked(json, out.marked_conservatively.emplace());
    }
    if (key == "live_only") return json.boolean(out.live_only);
    if (key == "lossy") return json.boolean(out.is_lossy);
    return read_header_text(json, key, out);
  });
  if (!json.is_good()) {
    wrong_ = json.error();
  } else if (version == 0) {
    wrong_ = "the snapshot has no version";
  } else if (version > kVersion) {
    wrong_ = fmt::format(
        "the snapshot has version {}, and this build reads version {}; read it with a newer "
        "heapattach",
        version, kVersion);
  }
  piece_.headers.push_back({std::move(raw), piece_.lines});
}

void Records::read_type(std::string_view line) {
  JsonCursor json(line);
  snapshot::Type out;
  json.object([&](std::string_view key) {
    if (key == "name") return json.string(out.name);
    if (key == "id") return read_number(json, out.id);
    if (key == "bytes") return read_number(json, out.instance_bytes);
    if (key == "holder") return json.string(out.holder);
    if (key == "guess") return json.string(out.guess);
    if (key == "lossy") return json.boolean(out.is_lossy);
    if (key == "known_from") return read_texts(json, out.known_from);
    if (key == "fields") {
      return json.array([&] { return read_field(json, out.fields.emplace_back()); });
    }
    return json.skip();
  });
  if (!json.is_good()) {
    wrong_ = json.error();
  } else if (out.name.empty()) {
    wrong_ = "a type without a name";
  }
  out.typed_by = typed_by(out);
  piece_.types.push_back({std::move(out), piece_.lines});
}

void Records::read_thread(std::string_view line) {
  JsonCursor json(line);
  RawThread out;
  RawStack stack;
  std::string state;
  json.object([&](std::string_view key) {
    if (key == "tid") return read_number(json, out.thread.tid);
    if (key == "name") return json.string(out.thread.name);
    if (key == "state") return json.string(state);
    if (key == "lossy") return json.boolean(out.thread.is_lossy);
    return Frames::is_key(key) ? frames_.read(json, key, stack) : read_wait(json, key, out);
  });
  out.thread.stack = frames_.keep(std::move(stack));
  if (!json.is_good()) wrong_ = json.error();
  if (state.size() == 1) out.thread.state = state[0];
  piece_.threads.push_back(std::move(out));
}

void Records::read_fiber(std::string_view line) {
  JsonCursor json(line);
  RawFiber out;
  RawStack stack;
  json.object([&](std::string_view key) {
    if (key == "address") return json.address(out.fiber.address);
    if (key == "name") return json.string(out.fiber.name);
    if (key == "same_frames_as") return read_address(json, out.same_frames_as);
    if (key == "lossy") return json.boolean(out.fiber.is_lossy);
    return Frames::is_key(key) ? frames_.read(json, key, stack) : read_wait(json, key, out);
  });
  out.fiber.stack = frames_.keep(std::move(stack));
  if (!json.is_good()) wrong_ = json.error();
  piece_.fibers.push_back(std::move(out));
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): a list of keys
void Records::read_root(std::string_view line) {
  JsonCursor json(line);
  RawRoot out;
  snapshot::Root& root = out.root;
  std::string kind;
  json.object([&](std::string_view key) {
    if (key == "kind") return json.string(kind);
    if (key == "thread") return read_number(json, root.thread);
    if (key == "fiber") return read_address(json, root.fiber);
    if (key == "frame") return read_number(json, root.frame);
    if (key == "variable") return json.string(root.variable);
    if (key == "inlined") return read_number(json, root.inlined);
    if (key == "symbol" || key == "register") return json.string(root.symbol);
    if (key == "module") return json.string(root.module);
    if (key == "address") return json.address(root.address);
    if (key == "to") return json.address(out.to);
    if (key == "below_stack_pointer") return json.boolean(root.is_below_stack_pointer);
    if (key == "lossy") return json.boolean(root.is_lossy);
    return json.skip();
  });
  const snapshot::RootKindRow* const known = snapshot::find_root_kind(kind, root.symbol);
  if (!json.is_good()) {
    wrong_ = json.error();
  } else if (known == nullptr) {
    wrong_ = "a root of an unknown kind";
  } else {
    root.kind = known->kind;
    if (!known->symbol.empty()) root.symbol.clear();
    piece_.roots.push_back({std::move(out), piece_.lines});
  }
}

void Records::read_end(std::string_view line) {
  JsonCursor json(line);
  EndRecord out;
  json.object([&](std::string_view key) {
    if (key == "complete") return json.boolean(out.complete);
    if (key == "reason") return json.string(out.reason);
    if (key == "objects") return read_number(json, out.objects);
    if (key == "bytes") return read_number(json, out.bytes);
    if (key == "roots") return read_number(json, out.roots);
    if (key == "skipped") return json.number(out.skipped);
    return json.skip();
  });
  if (!json.is_good()) wrong_ = json.error();
  piece_.ends.push_back({std::move(out), piece_.lines});
}

}  // namespace heapattach::read
