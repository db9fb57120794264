#include "symbols/boehm/thread_forms.h"

#include <array>

#include "attach/arch/addresses.h"
#include "attach/base/word.h"

// A form fits if every field holds what only such a field can hold. That tells the forms apart: one
// read as another has a counter where a stack's end should be, or an address among the flags. Forms
// that differ only where all is 0 say the same.

namespace heapattach::boehm {
namespace {

constexpr std::uint64_t kFinished = 1;
constexpr std::uint64_t kMainThread = 4;  // until 8.2
constexpr std::uint64_t kLargestStack = std::uint64_t{1} << 36;
constexpr std::size_t kMostSections = 10'000;
constexpr std::uint64_t kLowestAddress = 0x10000;

// Until 8.2 the flags are followed by a byte for a blocked thread, and by two counts for
// finalizers; the rest of the word is padding, as it is after the flags of 8.3.
constexpr std::uint64_t kBlockedByte = 0x100;
constexpr std::uint64_t kOldFlags = 0xff'ffff'011f;
constexpr std::uint64_t kBlockedFlag = 0x20;
constexpr std::uint64_t kFlags = 0x33;

// In Mono's, 16 bits for a blocked thread follow 16 bits of flags.
constexpr std::uint64_t kMonoBlocked = 0x1'0000;
constexpr std::uint64_t kMonoFlags = 0x1'000f;

constexpr std::array<RecordForm, 6> kForms = {{
    {"8.3", 2, 3, kBlockedFlag, kFlags, 1, 1, 0, 2, 4, 7, 6},
    {"8.3 without finalizers", 2, 3, kBlockedFlag, kFlags, 1, 1, 0, 2, 4, 6, std::nullopt},
    // With a count of suspensions by the program, …
    {"7.6 to 8.2", 1, 5, kBlockedByte, kOldFlags, std::nullopt, 4, 6, 7, 8, 11, std::nullopt},
    // … and without.
    {"7.6 to 8.2", 1, 4, kBlockedByte, kOldFlags, std::nullopt, 3, 5, 6, 7, 10, std::nullopt},
    {"7.2 to 7.4", 1, 4, kBlockedByte, kOldFlags, std::nullopt, 3, 5, std::nullopt, 0, 6,
     std::nullopt},
    {"6, of Mono 6.8", 1, 5, kMonoBlocked, kMonoFlags, std::nullopt, 4, 6, 7, 8, std::nullopt,
     std::nullopt, true},
}};

class RecordReader {
 public:
  RecordReader(const RecordForm& form, RemoteAddr at, const Capture& capture, const MemoryMap& map)
      : form_(form), at_(at), capture_(capture), map_(map), stack_at_(at) {}

  std::optional<ThreadRecord> read(bool& is_finished) {
    const auto flags = word(at_, form_.flags);
    if (!flags || (*flags & ~form_.known_flags) != 0) return std::nullopt;
    is_finished = (*flags & kFinished) != 0;
    record_.at = at_;
    record_.is_understood = true;
    record_.objects.push_back(at_);
    if (form_.context) {
      const auto context = word(at_, *form_.context);
      if (!context || *context == 0 || *context % kWordBytes != 0) return std::nullopt;
      stack_at_ = RemoteAddr{*context};
      record_.objects.push_back(stack_at_);
    } else {
      record_.has_own_end = (*flags & kMainThread) == 0;
    }
    if (!read_ends((*flags & form_.blocked_mask) != 0) || !read_alternate() || !read_sections()) {
      return std::nullopt;
    }
    return std::move(record_);
  }

 private:
  [[nodiscard]] std::optional<std::uint64_t> word(RemoteAddr from, std::size_t index) const {
    const auto value = capture_.read_as<std::uint64_t>(from + index * kWordBytes);
    return value ? std::optional(*value) : std::nullopt;
  }
  [[nodiscard]] bool is_on_stack(std::uint64_t value) const {
    const Mapping* mapping = value == 0 ? nullptr : map_.find(RemoteAddr{value});
    return mapping != nullptr && mapping->readable && mapping->writable;
  }

  static bool is_address(std::uint64_t value) {
    return value >= kLowestAddress && value < kUsualAddressEnd;
  }

  bool read_ends(bool is_blocked) {
    const auto pointer = word(stack_at_, form_.stack_pointer);
    const auto end = word(stack_at_, form_.stack_end);
    // Until the thread is first stopped this is only near its stack, if not 0.
    if (!pointer || (*pointer != 0 && !is_address(*pointer))) return false;
    if (is_blocked && !is_on_stack(*pointer)) return false;
    if (is_blocked) record_.blocked_at = RemoteAddr{*pointer};
    if (!end || *end % kWordBytes != 0) return false;
    if (*end == 0) return !record_.has_own_end;
    if (!is_on_stack(*end - 1)) return false;
    record_.stack_end = RemoteAddr{*end};
    return true;
  }

  bool read_alternate() {
    if (!form_.alternate_stack) return true;
    const auto start = word(stack_at_, *form_.alternate_stack);
    const auto bytes = word(stack_at_, form_.alternate_bytes);
    if (!start || !bytes) return false;
    if (*start == 0) return *bytes == 0;
    if (*bytes == 0 || *bytes > kLargestStack || !is_on_stack(*start)) return false;
    record_.alternate_stack = {{*start}, *bytes};
    return true;
  }

  // Each holds a saved stack pointer, and points to the one before.
  bool read_sections() {
    if (!form_.section) return true;
    const auto first = word(stack_at_, *form_.section);
    if (!first) return false;
    const auto counts = word(stack_at_, form_.counts.value_or(*form_.section));
    if (form_.counts && (!counts || *counts >> 32 != 0)) return false;
    for (std::uint64_t at = *first; at != 0;) {
      if (at % kWordBytes != 0 || !is_on_stack(at) || record_.sections.size() == kMostSections) {
        return false;
      }
      const auto saved = word({at}, 0);
      const auto before = word({at}, 1);
      if (!saved || !before || *saved <= at || (*before != 0 && *before <= *saved)) return false;
      record_.sections.push_back({{at}, {*saved}});
      at = *before;
    }
    return true;
  }

  const RecordForm& form_;
  RemoteAddr at_;
  const Capture& capture_;
  const MemoryMap& map_;
  RemoteAddr stack_at_;
  ThreadRecord record_;
};

}  // namespace

std::span<const RecordForm> record_forms() {
  return kForms;
}

std::optional<ThreadRecord> read_record(const RecordForm& form,
                                        RemoteAddr at,
                                        const Capture& capture,
                                        const MemoryMap& map,
                                        bool& is_finished) {
  return RecordReader(form, at, capture, map).read(is_finished);
}

}  // namespace heapattach::boehm
