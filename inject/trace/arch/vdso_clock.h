#pragma once

namespace heapattach::trace {

// The name of clock_gettime() in the kernel's vdso. For CLOCK_MONOTONIC_COARSE, it makes no system
// call on either processor.
#ifdef __x86_64__
inline constexpr const char* kVdsoClock = "__vdso_clock_gettime";
#else
inline constexpr const char* kVdsoClock = "__kernel_clock_gettime";
#endif

}  // namespace heapattach::trace
