#include "attach/base/check.h"
#include "inject/arch/call_frame.h"
#include "inject/arch/in_place_frame.h"
#include "inject/arch/stub.h"

// Nothing can be run in a process on aarch64 yet. Every way to these functions is refused before,
// by check_can_run_code(); to come here is a fault of ours.

namespace heapattach {

namespace {

constexpr bool kIsRefused = false;

}  // namespace

Result<CallFrame> make_call_frame(const RawRegisters& /*found*/,
                                  RemoteAddr /*function*/,
                                  std::span<const CallArgument> /*arguments*/) {
  HA_CHECK(kIsRefused);
  return CallFrame();
}

std::uint64_t function_result(const RawRegisters& /*now*/) {
  HA_CHECK(kIsRefused);
  return 0;
}

bool has_returned(const CallFrame& /*frame*/, const RawRegisters& /*now*/) {
  HA_CHECK(kIsRefused);
  return false;
}

Result<InPlaceFrame> make_in_place_frame(const RawRegisters& /*found*/,
                                         RemoteAddr /*stub*/,
                                         const InPlaceFunction& /*function*/,
                                         std::span<const std::byte> /*extended*/) {
  HA_CHECK(kIsRefused);
  return InPlaceFrame();
}

bool has_room(const MemoryMap& /*map*/,
              const RawRegisters& /*found*/,
              const InPlaceFrame& /*frame*/) {
  HA_CHECK(kIsRefused);
  return false;
}

std::size_t Stub::size_bytes() {
  HA_CHECK(kIsRefused);
  return 0;
}

std::vector<std::byte> Stub::image(const RawRegisters& /*way_back*/,
                                   std::uint64_t /*mask*/,
                                   std::uint64_t /*clone_seconds*/,
                                   std::string_view /*name*/) {
  HA_CHECK(kIsRefused);
  return {};
}

std::size_t Stub::name_at() {
  return size_bytes();
}

std::size_t Stub::call_entry() {
  return size_bytes();
}

std::size_t Stub::clone_entry() {
  return size_bytes();
}

std::size_t Stub::function_bytes() {
  return size_bytes();
}

std::vector<std::byte> Stub::function_image(const RawRegisters& way_back, std::uint64_t mask) {
  return image(way_back, mask, 0);
}

std::size_t Stub::function_return() {
  return size_bytes();
}

std::uint64_t Stub::function_result(const RawRegisters& /*at*/) {
  return size_bytes();
}

std::optional<Stub::Left> Stub::recognize(std::span<const std::byte> /*bytes*/) {
  HA_CHECK(kIsRefused);
  return std::nullopt;
}

RawRegisters entering(const RawRegisters& found,
                      RemoteAddr /*entry*/,
                      long /*number*/,
                      std::span<const std::uint64_t> /*arguments*/) {
  HA_CHECK(kIsRefused);
  return found;
}

}  // namespace heapattach
