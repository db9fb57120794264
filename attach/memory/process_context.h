#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "attach/base/attribute.h"
#include "attach/base/result.h"
#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"

namespace heapattach {

// The attributes that a process publishes for observers in OpenTelemetry's process context (OTEP
// 4719), each name once: those of its resource, such as service.name, and then others. Empty if it
// publishes none. Malformed, and Fault if the memory cannot be read, if there is a context that
// cannot be used. Stops nothing, and copes with a process that changes its context meanwhile.
Result<Attributes> read_process_context(const MemoryReader& memory, const MemoryMap& map);

// The attributes in the payload of a context. Values that are not texts become texts as
// OpenTelemetry writes them for systems that only know texts; long ones are cut, which "…" shows.
Result<Attributes> decode_process_context(std::span<const std::byte> payload);

// Whether a mapping with this path may have a context.
[[nodiscard]] bool is_process_context(std::string_view path);

}  // namespace heapattach
