#include "inject/arch/stub.h"

#include <algorithm>
#include <cstring>

#include "attach/base/check.h"
#include "inject/arch/stub_code.h"

namespace heapattach {

namespace {

std::size_t offset_of(const std::byte* label) {
  return static_cast<std::size_t>(label - heapattach_stub_begin);
}

std::size_t words_at() {
  return Stub::size_bytes() - sizeof(StubWords);
}

}  // namespace

std::size_t Stub::size_bytes() {
  return offset_of(heapattach_stub_end);
}

std::size_t Stub::call_entry() {
  return offset_of(heapattach_stub_call);
}

std::size_t Stub::clone_entry() {
  return offset_of(heapattach_stub_clone);
}

std::size_t Stub::name_at() {
  return words_at() + offsetof(StubWords, name);
}

std::size_t Stub::function_bytes() {
  return static_cast<std::size_t>(heapattach_stub_begin - heapattach_function_begin);
}

std::size_t Stub::function_return() {
  return static_cast<std::size_t>(heapattach_function_returned - heapattach_function_begin);
}

std::optional<Stub::Left> Stub::recognize(std::span<const std::byte> bytes) {
  const std::span function(heapattach_function_begin, function_bytes());
  const bool has_function =
      bytes.size() >= function.size() && std::ranges::equal(bytes.first(function.size()), function);
  const std::size_t in_front = has_function ? function.size() : 0;
  bytes = bytes.subspan(in_front);
  const std::size_t code = offset_of(heapattach_stub_data);
  if (bytes.size() < size_bytes() || !is_stub_code(bytes.first(code))) return std::nullopt;
  StubWords words;
  std::memcpy(&words, bytes.data() + words_at(), sizeof words);
  return Left{in_front + size_bytes(), {words.stack}};
}

std::vector<std::byte> Stub::function_image(RemoteAddr at,
                                            const RawRegisters& way_back,
                                            std::uint64_t mask) {
  std::vector<std::byte> bytes(heapattach_function_begin, heapattach_stub_begin);
  const std::vector<std::byte> rest = image(at + function_bytes(), way_back, mask, 0);
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  return bytes;
}

std::vector<std::byte> Stub::image(RemoteAddr at,
                                   const RawRegisters& way_back,
                                   std::uint64_t mask,
                                   std::uint64_t clone_seconds,
                                   std::string_view name) {
  const std::vector<std::uint64_t> registers = words_to_load(way_back);
  const auto first = std::as_bytes(std::span(registers));
  HA_CHECK(offset_of(heapattach_stub_data) + first.size() == words_at());
  StubWords words{.stack = stack_pointer(way_back).value,
                  .goal = instruction_pointer(way_back).value,
                  .mask = mask,
                  .sleep = {clone_seconds, 0}};
  HA_CHECK(name.size() < words.name.size());
  std::memcpy(words.name.data(), name.data(), name.size());
  std::vector<std::byte> bytes(heapattach_stub_begin, heapattach_stub_end);
  std::memcpy(bytes.data() + offset_of(heapattach_stub_data), first.data(), first.size());
  std::memcpy(bytes.data() + words_at(), &words, sizeof words);
  aim(bytes, at, {words.goal});
  return bytes;
}

}  // namespace heapattach
