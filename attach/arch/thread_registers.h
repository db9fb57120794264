#pragma once

#include <sys/types.h>

#include "attach/arch/registers.h"
#include "attach/base/result.h"

// The registers of a thread that is stopped and traced by the calling thread.
namespace heapattach {

// Unsupported if it runs 32-bit code.
Result<RawRegisters> read_registers(pid_t tid);
Result<void> write_registers(pid_t tid, const RawRegisters& values);

}  // namespace heapattach
