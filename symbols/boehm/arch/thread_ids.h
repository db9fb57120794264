#pragma once

#include <cstdint>
#include <span>

#include "attach/memory/capture.h"
#include "attach/stop/frozen_process.h"

namespace heapattach::boehm {

// How far a thread's pthread_t is below its thread pointer, by processor (e_machine); 0 if no
// thread shows it.
[[nodiscard]] std::uint64_t id_below_pointer(std::uint16_t machine,
                                             const Capture& capture,
                                             std::span<const FrozenThread> threads);

}  // namespace heapattach::boehm
