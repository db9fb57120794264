#include "report/format/write/json_objects.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/check.h"
#include "report/format/write/gzip.h"
#include "report/format/write/json_values.h"
#include "report/format/write/ordered_output.h"
#include "report/model/json_keys.h"
#include "report/parallel.h"
#include "report/text/json_text.h"

namespace heapattach {

namespace {

using snapshot::Edge;
using snapshot::Object;
using snapshot::Snapshot;

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr std::size_t kObjectsPerPiece = 4096;  // about half a buffer of text
constexpr std::size_t kEdgesAhead = 24;         // far enough for memory to answer in time

// Text goes through a bare pointer below: each line reserves its room first.

template <std::size_t N>
char* put(char* at, const char (&literal)[N]) {
  std::memcpy(at, literal, N - 1);
  return at + N - 1;
}

char* put(char* at, std::string_view text) {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

using HexPairs = std::array<char, 512>;
constexpr HexPairs kHexPairs = [] {
  constexpr std::string_view kDigits = "0123456789abcdef";
  HexPairs pairs{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    pairs[2 * byte] = kDigits[byte >> 4];
    pairs[2 * byte + 1] = kDigits[byte & 15];
  }
  return pairs;
}();

char* put_hex(char* at, std::uint64_t value) {
  const std::size_t digits = (static_cast<std::size_t>(std::bit_width(value | 1)) + 3) / 4;
  char* const end = at + digits;
  char* here = end;
  while (here - at >= 2) {
    here -= 2;
    std::memcpy(here, &kHexPairs[2 * (value & 0xff)], 2);
    value >>= 8;
  }
  if (here != at) *at = kHexPairs[2 * value + 1];
  return end;
}

// The text that all lines of a type share.
struct TypeText {
  std::string name;  // from after the address up to the number of bytes
  bool is_lossy = false;
  JsonKeys keys;
};

std::vector<TypeText> type_texts(const Snapshot& snapshot) {
  std::vector<TypeText> texts;
  texts.reserve(snapshot.types.size());
  for (const snapshot::Type& type : snapshot.types) {
    TypeText text{"\",\"type\":", false, JsonKeys(type)};
    text.is_lossy = append_json_string(text.name, type.name);
    text.name += ",\"bytes\":";
    texts.push_back(std::move(text));
  }
  return texts;
}

constexpr std::string_view kLossy = ",\"lossy\":true";

// By kind and reachability.
constexpr std::array<std::string_view, 8> kMarks{",\"reachable\":false",
                                                 "",
                                                 ",\"kind\":\"atomic\",\"reachable\":false",
                                                 ",\"kind\":\"atomic\"",
                                                 ",\"kind\":\"uncollectable\",\"reachable\":false",
                                                 ",\"kind\":\"uncollectable\"",
                                                 ",\"kind\":\"custom\",\"reachable\":false",
                                                 ",\"kind\":\"custom\""};

// Buffers a worker's text.
class LineBuffer {
 public:
  LineBuffer(OrderedOutput& output, bool with_gzip) : output_(output), bytes_(kBufferBytes) {
    if (with_gzip) gzip_.emplace();
  }

  void start(std::size_t piece) { piece_ = piece; }
  // Room for up to `bytes` of text; pass the end of the text to `took`.
  char* room(std::size_t bytes) {
    if (bytes_.size() - used_ < bytes) flush();
    return bytes_.data() + used_;
  }
  void took(const char* end) { used_ = static_cast<std::size_t>(end - bytes_.data()); }
  void finish() {
    flush();
    output_.finish(piece_);
  }
  // An empty string for text of unknown length.
  std::string& scratch() {
    scratch_.clear();
    return scratch_;
  }

 private:
  void flush() {
    const std::string_view text(bytes_.data(), used_);
    // The output remembers the failure, and drops what follows.
    if (used_ != 0) output_.append(piece_, gzip_ ? gzip_->compress(text) : text);
    used_ = 0;
  }

  OrderedOutput& output_;
  std::vector<char> bytes_;
  std::string scratch_;
  std::size_t used_ = 0;
  std::size_t piece_ = 0;
  std::optional<GzipMembers> gzip_;
};

class ObjectFormatter {
 public:
  explicit ObjectFormatter(const Snapshot& snapshot)
      : snapshot_(snapshot), types_(type_texts(snapshot)) {
    for (const std::uint64_t size : snapshot.sizes) sizes_.push_back(std::to_string(size));
    for (std::size_t heap = 1; heap < snapshot.heaps.size(); ++heap) {
      heaps_.at(heap) = fmt::format(",\"heap\":\"{}\"", snapshot.heaps[heap].kind().key);
    }
  }

  void format(std::size_t index, LineBuffer& out) const {
    const Object& object = snapshot_.objects[index];
    const TypeText& type = types_[object.type];
    const std::string& size = sizes_[object.size_class];
    char* at = out.room(type.name.size() + size.size() + 200);
    at = put(at, "{\"record\":\"object\",\"address\":\"0x");
    at = put_hex(at, object.address);
    at = put(at, type.name);
    at = put(at, size);
    const std::size_t kind = object.kind;
    const std::size_t mark = 2 * kind + object.is_reachable;
    if (mark != 1) at = put(at, kMarks[mark]);
    if (object.heap != 0) at = put(at, heaps_[object.heap]);
    bool is_lossy = type.is_lossy || object.is_lossy != 0;
    if (!snapshot_.values.empty()) {
      out.took(at);
      std::string& values = out.scratch();
      is_lossy |= append_json_values(values, snapshot_, static_cast<snapshot::ObjectIndex>(index));
      at = put(out.room(values.size() + 64), values);
    }
    if (is_lossy) at = put(at, kLossy);
    if (!snapshot_.first_edge.empty() &&
        snapshot_.first_edge[index] != snapshot_.first_edge[index + 1]) {
      at = put(at, ",\"refs\":{");
      out.took(at);
      at = format_edges(index, type, out);
    }
    at = put(at, "}\n");
    out.took(at);
  }

 private:
  // Leaves room for the end of the line.
  char* format_edges(std::size_t index, const TypeText& type, LineBuffer& out) const {
    const std::uint64_t first = snapshot_.first_edge[index];
    const std::uint64_t end = snapshot_.first_edge[index + 1];
    const std::size_t most_bytes = type.keys.longest() + 64;
    JsonKeys::Cursor key(type.keys);
    char* at = nullptr;
    for (std::uint64_t e = first; e < end; ++e) {
      const Edge edge = snapshot_.edges[e];
      if (e + kEdgesAhead < snapshot_.edges.size()) {
        __builtin_prefetch(&snapshot_.objects[snapshot_.edges[e + kEdgesAhead].to]);
      }
      at = out.room(most_bytes);
      if (e != first) *at++ = ',';
      at = key.put(at, std::uint64_t{edge.offset_words} * 8);
      at = put(at, "\"0x");
      at = put_hex(at, snapshot_.objects[edge.to].address);
      *at++ = '"';
      out.took(at);
    }
    at = out.room(8);
    *at++ = '}';
    return at;
  }

  const Snapshot& snapshot_;
  std::vector<TypeText> types_;
  std::vector<std::string> sizes_;
  std::array<std::string, snapshot::kMostHeaps> heaps_;  // the member that names an object's heap
};

class ObjectWriter {
 public:
  ObjectWriter(const Snapshot& snapshot, Sink& sink, const JsonLinesOptions& options)
      : snapshot_(snapshot), options_(options), formatter_(snapshot), output_(sink) {
    HA_CHECK(snapshot.first_edge.empty() ||
             (snapshot.first_edge.size() == snapshot.objects.size() + 1 &&
              snapshot.first_edge.back() == snapshot.edges.size()));
  }

  Result<JsonLinesWritten> write() {
    run_workers(workers_for(pieces()), [this](unsigned) {
      try {
        work();
      } catch (...) {
        output_.fail({ErrorKind::Os, "a worker thread failed"});  // the others must not wait for it
        throw;
      }
    });
    HA_TRY(output_.result());
    return JsonLinesWritten{objects_, bytes_, in_time_};
  }

 private:
  [[nodiscard]] std::size_t pieces() const {
    return (snapshot_.objects.size() + kObjectsPerPiece - 1) / kObjectsPerPiece;
  }

  void work() {
    LineBuffer out(output_, options_.with_gzip);
    while (may_go_on()) {
      // No claimed piece is ever dropped, so the written text has no gaps.
      const std::size_t piece = next_piece_.fetch_add(1);
      if (piece >= pieces()) break;
      out.start(piece);
      write_piece(piece, out);
      out.finish();
      if (options_.on_progress) tell_progress();
    }
  }

  bool may_go_on() {
    if (output_.has_failed()) return false;
    if (options_.deadline.is_interrupted()) {
      output_.fail(options_.deadline.check("writing the snapshot").error());
      return false;
    }
    if (!options_.deadline.has_passed()) return true;
    if (next_piece_ < pieces()) in_time_ = false;
    return false;
  }

  void write_piece(std::size_t piece, LineBuffer& out) {
    const std::size_t from = piece * kObjectsPerPiece;
    const std::size_t to = std::min(from + kObjectsPerPiece, snapshot_.objects.size());
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;
    for (std::size_t i = from; i < to; ++i) {
      const Object& object = snapshot_.objects[i];
      if (snapshot_.header.live_only && object.is_reachable == 0) continue;
      formatter_.format(i, out);
      objects += 1;
      bytes += snapshot_.bytes_of(object);
    }
    objects_ += objects;
    bytes_ += bytes;
  }

  void tell_progress() {
    const std::unique_lock lock(progress_mutex_, std::try_to_lock);
    if (lock) options_.on_progress(objects_);
  }

  const Snapshot& snapshot_;
  const JsonLinesOptions& options_;
  ObjectFormatter formatter_;
  OrderedOutput output_;
  std::mutex progress_mutex_;
  std::atomic<std::size_t> next_piece_ = 0;
  std::atomic<std::uint64_t> objects_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<bool> in_time_ = true;
};

}  // namespace

Result<JsonLinesWritten> write_json_objects(const Snapshot& snapshot,
                                            Sink& sink,
                                            const JsonLinesOptions& options) {
  return ObjectWriter(snapshot, sink, options).write();
}

}  // namespace heapattach
