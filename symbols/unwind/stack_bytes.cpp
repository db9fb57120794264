#include "symbols/unwind/stack_bytes.h"

#include <cstring>

#include <fmt/format.h>

namespace heapattach::unwind {

namespace {

class Writer {
 public:
  template <class T>
  void put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Reads numbers from bytes. Missing bytes are read as zero, and the reader notes that.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T take() {
    T value{};
    if (!has(sizeof value)) return value;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }
  std::string take_text() {
    const auto size = take<std::uint32_t>();
    if (!has(size)) return {};
    std::string text(size, '\0');
    if (size > 0) std::memcpy(text.data(), bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    return text;
  }
  // Reads a number of items, each of which has at least `bytes`.
  std::size_t take_count(std::size_t bytes) {
    const auto count = take<std::uint32_t>();
    return has(count * bytes) ? count : 0;
  }
  // Reads a value of an enumeration whose last value is `last`.
  template <class Enum>
  Enum take_one_of(Enum last) {
    const auto value = take<std::uint8_t>();
    if (value > static_cast<std::uint8_t>(last)) is_broken_ = true;
    return is_broken_ ? Enum{} : static_cast<Enum>(value);
  }
  [[nodiscard]] bool is_broken() const { return is_broken_; }
  [[nodiscard]] std::span<const std::byte> rest() const { return bytes_; }

 private:
  bool has(std::size_t size) {
    is_broken_ = is_broken_ || bytes_.size() < size;
    return !is_broken_;
  }

  std::span<const std::byte> bytes_;
  bool is_broken_ = false;
};

// What the next part is.
enum class Tag : std::uint8_t { Stack, Places };

constexpr std::size_t kFrameBytes = 25;
constexpr std::size_t kLeastLocalBytes = 25;
constexpr std::size_t kLeastPlaceBytes = 25;

void write(const FoundStack& found, Writer& writer) {
  writer.put(Tag::Stack);
  writer.put(found.stack.thread);
  writer.put(found.stack.fiber);
  writer.put(found.stack.end);
  writer.put(found.stack.left_out);
  writer.put(found.stack.left_out_behind);
  writer.put(static_cast<std::uint32_t>(found.stack.frames.size()));
  for (const FrameRecord& frame : found.stack.frames) {
    writer.put(frame.pc.value);
    writer.put(frame.stack_pointer.value);
    writer.put(frame.cfa.value);
    writer.put(frame.found_by);
  }
  writer.put(static_cast<std::uint32_t>(found.locals.size()));
  for (const FoundLocal& local : found.locals) {
    writer.put(local.frame);
    writer.put(local.local.at);
    writer.put(static_cast<std::uint8_t>(local.local.is_value));
    writer.put(local.local.inlined);
    writer.put_text(local.local.name);
    writer.put_text(local.local.type);
  }
}

void write(const CodePlaces& found, Writer& writer) {
  writer.put(Tag::Places);
  writer.put(found.pc.value);
  writer.put(static_cast<std::uint32_t>(found.places.size()));
  for (const Place& place : found.places) {
    writer.put_text(place.function);
    writer.put_text(place.file);
    writer.put_text(place.home);
    writer.put_text(place.maker);
    writer.put(place.line);
    writer.put(place.column);
    writer.put(static_cast<std::uint8_t>(place.is_inlined));
  }
}

Result<FoundPart> take_places(Reader& reader) {
  CodePlaces found;
  found.pc.value = reader.take<std::uint64_t>();
  found.places.resize(reader.take_count(kLeastPlaceBytes));
  for (Place& place : found.places) {
    place.function = reader.take_text();
    place.file = reader.take_text();
    place.home = reader.take_text();
    place.maker = reader.take_text();
    place.line = reader.take<std::uint32_t>();
    place.column = reader.take<std::uint32_t>();
    place.is_inlined = reader.take<std::uint8_t>() != 0;
  }
  return FoundPart(std::move(found));
}

Result<FoundPart> take_stack(Reader& reader) {
  FoundStack found;
  found.stack.thread = reader.take<pid_t>();
  found.stack.fiber = reader.take<std::uint64_t>();
  found.stack.end = reader.take_one_of(StackEnd::OtherStack);
  found.stack.left_out = reader.take<std::uint64_t>();
  found.stack.left_out_behind = reader.take<std::uint32_t>();
  found.stack.frames.resize(reader.take_count(kFrameBytes));
  for (FrameRecord& frame : found.stack.frames) {
    frame.pc.value = reader.take<std::uint64_t>();
    frame.stack_pointer.value = reader.take<std::uint64_t>();
    frame.cfa.value = reader.take<std::uint64_t>();
    frame.found_by = reader.take_one_of(FoundBy::Code);
  }
  found.locals.resize(reader.take_count(kLeastLocalBytes));
  for (FoundLocal& local : found.locals) {
    local.frame = reader.take<std::uint32_t>();
    local.local.at = reader.take<std::uint64_t>();
    local.local.is_value = reader.take<std::uint8_t>() != 0;
    local.local.inlined = reader.take<std::uint32_t>();
    local.local.name = reader.take_text();
    local.local.type = reader.take_text();
    if (local.frame >= found.stack.frames.size()) {
      return Error{ErrorKind::Malformed, fmt::format("a variable of frame {}", local.frame)};
    }
  }
  return FoundPart(std::move(found));
}

}  // namespace

std::vector<std::byte> to_bytes(const FoundPart& part) {
  Writer writer;
  std::visit([&](const auto& found) { write(found, writer); }, part);
  return writer.take();
}

Result<FoundPart> take_part(std::span<const std::byte>& bytes) {
  Reader reader(bytes);
  const auto tag = reader.take_one_of(Tag::Places);
  auto part = tag == Tag::Places ? take_places(reader) : take_stack(reader);
  if (part && reader.is_broken()) return Error{ErrorKind::Malformed, "a stack is cut short"};
  if (part) bytes = reader.rest();
  return part;
}

}  // namespace heapattach::unwind
