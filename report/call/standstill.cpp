#include "report/call/standstill.h"

#include <algorithm>

#include <fmt/format.h>

#include "attach/process/blocked_call.h"

namespace heapattach {

bool Standstill::look() {
  std::map<pid_t, Place> places;
  const auto threads = process_.list_threads();
  if (threads) {
    for (const pid_t tid : threads->tids) {
      const auto text = process_.read_file(fmt::format("task/{}/syscall", tid));
      const auto call = text ? parse_blocked_call(*text) : std::nullopt;
      places[tid] =
          call ? Place(std::pair(call->stack_pointer.value, call->instruction_pointer.value))
               : std::nullopt;
    }
  }
  const bool all_wait = std::all_of(places.begin(), places.end(),
                                    [](const auto& one) { return one.second.has_value(); });
  const bool is_same = !places.empty() && all_wait && places == places_;
  places_ = std::move(places);
  return is_same;
}

}  // namespace heapattach
