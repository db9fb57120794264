// The context is a header of 32 bytes at the start of a mapping with a name of its own, and a
// payload anywhere in the process:
//
//   0   "OTEL_CTX"        written last, so that what follows is complete
//   8   u32 version       2; 1 was for development
//   12  u32 payload size
//   16  u64 time of publication in nanoseconds; 0 while the publisher changes the context
//   24  u64 address of the payload
//
// The payload is a protobuf message: ProcessContext, whose field 1 is a Resource and whose field 2
// is repeated KeyValue. Earlier publishers wrote the Resource itself, whose field 1 is repeated
// KeyValue. A KeyValue has a message as its field 2; in a Resource that is a number. So field 1
// tells which of the two it is.
//
// A reader that finds the same time before and after it has read the payload has read one state.

#include "attach/memory/process_context.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include <fmt/format.h>

namespace heapattach {

namespace {

constexpr std::string_view kSignature = "OTEL_CTX";
constexpr std::uint32_t kVersion = 2;
constexpr std::uint32_t kMostBytes = 64U << 10U;
constexpr std::size_t kMostAttributes = 128;
constexpr std::size_t kMostNameBytes = 256;
constexpr std::size_t kMostValueBytes = 1024;
constexpr int kDeepest = 8;  // values within values
// A change takes microseconds, unless the publisher is not running.
constexpr int kMostTries = 20;
constexpr std::chrono::milliseconds kBetweenTries{1};

struct Header {
  std::array<char, 8> signature{};
  std::uint32_t version = 0;
  std::uint32_t payload_bytes = 0;
  std::uint64_t published_ns = 0;
  std::uint64_t payload = 0;
};
static_assert(sizeof(Header) == 32);

Error malformed(std::string what) {
  return Error{ErrorKind::Malformed, std::move(what)};
}

// The fields of a protobuf message, one after another.
class Fields {
 public:
  enum class Kind : std::uint8_t { Number = 0, Eight = 1, Bytes = 2, Four = 5 };

  explicit Fields(std::string_view message) : rest_(message) {}

  // False after the last field, and at one that makes no sense.
  bool next() {
    if (rest_.empty() || is_damaged_) return false;
    constexpr std::uint64_t kMostTag = ~std::uint32_t{0};
    const std::uint64_t tag = varint();
    number_ = static_cast<std::uint32_t>(tag >> 3U);
    kind_ = static_cast<Kind>(tag & 7U);
    if (tag > kMostTag || number_ == 0) is_damaged_ = true;
    switch (kind_) {
      case Kind::Number: value_ = varint(); break;
      case Kind::Eight: value_ = fixed<std::uint64_t>(); break;
      case Kind::Four: value_ = fixed<std::uint32_t>(); break;
      case Kind::Bytes: bytes_ = take(varint()); break;
      default: is_damaged_ = true;  // groups, which nobody uses any more
    }
    return !is_damaged_;
  }

  [[nodiscard]] bool is(std::uint32_t number, Kind kind) const {
    return number_ == number && kind_ == kind;
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] bool is_damaged() const { return is_damaged_; }

 private:
  std::string_view take(std::uint64_t bytes) {
    if (bytes > rest_.size()) {
      is_damaged_ = true;
      return {};
    }
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  template <class Number>
  std::uint64_t fixed() {
    Number number{};
    const std::string_view bytes = take(sizeof number);
    if (!bytes.empty()) std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  }

  std::uint64_t varint() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::string_view one = take(1);
      if (one.empty()) return 0;
      const auto byte = static_cast<unsigned char>(one.front());
      number |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) == 0) return number;
    }
    is_damaged_ = true;
    return 0;
  }

  std::string_view rest_;
  std::uint32_t number_ = 0;
  Kind kind_{};
  std::uint64_t value_ = 0;
  std::string_view bytes_;
  bool is_damaged_ = false;
};
using Kind = Fields::Kind;

struct KeyValue {
  std::string_view name;
  std::string_view value;  // a message AnyValue
};

// Nothing if the message is damaged.
std::optional<KeyValue> key_value(std::string_view message) {
  KeyValue found;
  Fields fields(message);
  while (fields.next()) {
    if (fields.is(1, Kind::Bytes)) found.name = fields.bytes();
    if (fields.is(2, Kind::Bytes)) found.value = fields.bytes();
  }
  if (fields.is_damaged()) return {};
  return found;
}

// Cuts a text between two characters.
std::string cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80U) --most;
  return std::string(text.substr(0, most)) + "…";
}

// Texts of values; those within others are as in JSON.
class Values {
 public:
  // Nothing if the message is damaged.
  static std::optional<std::string> text_of(std::string_view any_value) {
    Values values;
    values.add(any_value, 0);
    if (values.is_damaged_) return {};
    return cut(values.text_, kMostValueBytes);
  }

 private:
  void add(std::string_view any_value, int depth) {
    Fields fields(any_value);
    while (fields.next()) {
      add_number(fields);
      if (fields.is(1, Kind::Bytes)) add_text(fields.bytes(), depth);
      if (fields.is(5, Kind::Bytes)) add_list(fields.bytes(), depth, '[', ']');
      if (fields.is(6, Kind::Bytes)) add_list(fields.bytes(), depth, '{', '}');
      if (fields.is(7, Kind::Bytes)) {
        add_text(fmt::format("({} bytes)", fields.bytes().size()), depth);
      }
    }
    is_damaged_ |= fields.is_damaged();
  }

  // Adds the field that was read last if it is a truth value or a number.
  void add_number(const Fields& field) {
    if (field.is(2, Kind::Number)) text_ += field.value() != 0 ? "true" : "false";
    if (field.is(3, Kind::Number)) {
      text_ += fmt::format("{}", std::bit_cast<std::int64_t>(field.value()));
    }
    if (field.is(4, Kind::Eight)) text_ += fmt::format("{}", std::bit_cast<double>(field.value()));
  }

  void add_text(std::string_view text, int depth) {
    if (depth == 0) {
      text_ += text;
      return;
    }
    text_ += '"';
    for (const char letter : text) {
      if (letter == '"' || letter == '\\') text_ += '\\';
      text_ += letter;
    }
    text_ += '"';
  }

  // An array of values, or of pairs of names and values.
  void add_list(std::string_view list, int depth, char begin, char end) {
    if (depth == kDeepest) {
      text_ += "…";
      return;
    }
    text_ += begin;
    bool is_first = true;
    Fields fields(list);
    while (fields.next()) {
      if (!fields.is(1, Kind::Bytes)) continue;
      if (!is_first) text_ += ',';
      is_first = false;
      add_item(fields.bytes(), depth + 1, begin == '{');
    }
    is_damaged_ |= fields.is_damaged();
    text_ += end;
  }

  void add_item(std::string_view item, int depth, bool is_pair) {
    if (!is_pair) return add(item, depth);
    const auto pair = key_value(item);
    is_damaged_ |= !pair;
    if (!pair) return;
    add_text(pair->name, depth);
    text_ += ':';
    add(pair->value, depth);
  }

  std::string text_;
  bool is_damaged_ = false;
};

// Adds an attribute unless its name is known. False if it is damaged.
bool add_attribute(std::string_view message, Attributes& out) {
  const auto pair = key_value(message);
  if (!pair) return false;
  auto value = Values::text_of(pair->value);
  if (!value) return false;
  std::string name = cut(pair->name, kMostNameBytes);
  const bool is_known =
      std::any_of(out.begin(), out.end(), [&](const Attribute& one) { return one.name == name; });
  if (name.empty() || is_known || out.size() == kMostAttributes) return true;
  out.push_back({std::move(name), *std::move(value)});
  return true;
}

// Adds the attributes in the fields `number` of a message.
bool add_attributes(std::string_view message, std::uint32_t number, Attributes& out) {
  Fields fields(message);
  while (fields.next()) {
    if (fields.is(number, Kind::Bytes) && !add_attribute(fields.bytes(), out)) return false;
  }
  return !fields.is_damaged();
}

bool is_key_value(std::string_view message) {
  Fields fields(message);
  while (fields.next()) {
    if (fields.is(2, Kind::Bytes)) return true;
  }
  return false;
}

bool add_whole_context(std::string_view message, Attributes& out) {
  Fields fields(message);
  while (fields.next()) {
    if (!fields.is(1, Kind::Bytes)) continue;
    const std::string_view first = fields.bytes();
    const bool is_good =
        is_key_value(first) ? add_attribute(first, out) : add_attributes(first, 1, out);
    if (!is_good) return false;
  }
  return !fields.is_damaged() && add_attributes(message, 2, out);
}

// One consistent state of a context. Nothing if the publisher is changing it.
struct State {
  Header header;
  std::vector<std::byte> payload;
};
Result<std::optional<State>> read_state(const MemoryReader& memory, RemoteAddr at) {
  State state;
  state.header = HA_TRY(memory.read_as<Header>(at));
  const Header& header = state.header;
  if (std::string_view(header.signature.data(), header.signature.size()) != kSignature) {
    return malformed("its signature is missing");
  }
  if (header.version != kVersion) {
    return malformed(
        fmt::format("its version is {}, and only {} is known", header.version, kVersion));
  }
  if (header.published_ns == 0) return std::optional<State>();
  if (header.payload_bytes > kMostBytes) {
    return malformed(
        fmt::format("it has {} bytes, more than {}", header.payload_bytes, kMostBytes));
  }
  state.payload.resize(header.payload_bytes);
  const auto read = memory.read(RemoteAddr{header.payload}, state.payload);
  const Header after = HA_TRY(memory.read_as<Header>(at));
  if (after.published_ns != header.published_ns) return std::optional<State>();
  if (!read) return read.error();
  return std::optional(std::move(state));
}

Result<Attributes> read_context_at(const MemoryReader& memory, RemoteAddr at) {
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (tries != 0) std::this_thread::sleep_for(kBetweenTries);
    const auto state = HA_TRY(read_state(memory, at));
    if (state) return decode_process_context(state->payload);
  }
  return malformed("the process is changing it");
}

}  // namespace

bool is_process_context(std::string_view path) {
  return path.starts_with("/memfd:OTEL_CTX") || path.starts_with("[anon_shmem:OTEL_CTX]") ||
         path.starts_with("[anon:OTEL_CTX]");
}

Result<Attributes> decode_process_context(std::span<const std::byte> payload) {
  const std::string_view message(reinterpret_cast<const char*>(payload.data()), payload.size());
  Attributes attributes;
  if (!add_whole_context(message, attributes)) return malformed("its payload is damaged");
  return attributes;
}

Result<Attributes> read_process_context(const MemoryReader& memory, const MemoryMap& map) {
  std::optional<Error> wrong;
  for (const Mapping& mapping : map.mappings()) {
    if (!is_process_context(mapping.path)) continue;
    auto attributes = read_context_at(memory, mapping.range.start);
    if (attributes) return attributes;
    wrong = std::move(attributes).error().context("the process context of OpenTelemetry");
  }
  if (wrong) return *std::move(wrong);
  return Attributes{};
}

}  // namespace heapattach
