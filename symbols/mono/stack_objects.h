#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attach/base/remote_addr.h"
#include "symbols/mono/classes.h"
#include "symbols/mono/words.h"

namespace heapattach::mono {

// The objects that a thread works with: those that its stack references. Their fields prove what
// the thread waits for: an Object that is only a lock is the m_lockObj of a SemaphoreSlim, and an
// event is the writeEvent of a ReaderWriterLockSlim.
class StackObjects {
 public:
  // Borrows `classes` and `read`. `words` are those of the stack, the innermost first.
  StackObjects(ClassReader& classes, const ReadWord& read, std::span<const std::uint64_t> words);

  struct Field {
    std::uint64_t object = 0;
    std::string_view of;  // the object's class
    std::string_view name;
  };
  // The innermost field that references `object`.
  [[nodiscard]] std::optional<Field> reference_to(std::uint64_t object) const;
  // The field of the WaitHandle that a thread that is blocked on `futex` waits for.
  [[nodiscard]] std::optional<Field> awaited_handle(RemoteAddr futex) const;

 private:
  struct Object {
    std::uint64_t at = 0;
    const Class* of = nullptr;
  };
  template <class Fits>
  [[nodiscard]] std::optional<Field> find(const Fits& fits) const;

  const ReadWord& read_;
  std::vector<Object> objects_;
};

}  // namespace heapattach::mono
