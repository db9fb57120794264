#include "inject/call_names.h"

#include <algorithm>
#include <array>

#include <asm/unistd.h>
#include <fmt/format.h>

namespace heapattach {

namespace {

struct CallName {
  long number;
  std::string_view name;
};

// All system calls in the kernel headers that this is built with.
constexpr auto kCalls = std::to_array<CallName>({
#include "call_list.h"
});

// System calls that these headers may lack. Calls added since Linux 5.1 have the same number on all
// processors.
constexpr std::array kNewerCalls = {
    CallName{451, "cachestat"},         CallName{452, "fchmodat2"},
    CallName{453, "map_shadow_stack"},  CallName{454, "futex_wake"},
    CallName{455, "futex_wait"},        CallName{456, "futex_requeue"},
    CallName{457, "statmount"},         CallName{458, "listmount"},
    CallName{459, "lsm_get_self_attr"}, CallName{460, "lsm_set_self_attr"},
    CallName{461, "lsm_list_modules"},  CallName{462, "mseal"},
    CallName{463, "setxattrat"},        CallName{464, "getxattrat"},
    CallName{465, "listxattrat"},       CallName{466, "removexattrat"},
    CallName{467, "open_tree_attr"},
};

template <class Matches>
const CallName* find(Matches matches) {
  const auto* const call = std::find_if(kCalls.begin(), kCalls.end(), matches);
  if (call != kCalls.end()) return call;
  const auto* const newer = std::find_if(kNewerCalls.begin(), kNewerCalls.end(), matches);
  return newer == kNewerCalls.end() ? nullptr : newer;
}

}  // namespace

std::string call_name(long number) {
  const CallName* const call = find([&](const CallName& one) { return one.number == number; });
  return call == nullptr ? fmt::format("call {}", number) : std::string(call->name);
}

std::optional<int> call_number(std::string_view name) {
  const CallName* const call = find([&](const CallName& one) { return one.name == name; });
  if (call == nullptr) return std::nullopt;
  return static_cast<int>(call->number);
}

}  // namespace heapattach
