#include "attach/process/thread_state.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "attach/process/stat_field.h"

namespace heapattach {

Result<std::uint64_t> stat_field(std::string_view stat, int number) {
  constexpr int kFirstAfterName = 3;
  // After the name there are only numbers and the state letter, so its end is the last ')'.
  const std::size_t name_end = stat.rfind(')');
  std::string_view rest = stat;
  rest.remove_prefix(name_end == std::string_view::npos ? rest.size() : name_end + 1);
  rest.remove_prefix(std::min<std::size_t>(rest.size(), 1));
  for (int field = kFirstAfterName; field < number; ++field) {
    const std::size_t space = rest.find(' ');
    rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
  }
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (parsed.ec == std::errc()) return value;
  return Error{ErrorKind::Malformed, fmt::format("the kernel's stat file has no field {}", number)};
}

Result<ThreadState> parse_thread_state(std::string_view stat) {
  const std::size_t name_begin = stat.find('(');
  const std::size_t name_end = stat.rfind(')');
  if (name_begin == std::string_view::npos || name_end == std::string_view::npos ||
      name_end < name_begin || name_end + 3 >= stat.size() || stat[name_end + 1] != ' ') {
    return Error{ErrorKind::Malformed, "the kernel's stat file has no name and state"};
  }
  ThreadState state;
  state.name = stat.substr(name_begin + 1, name_end - name_begin - 1);
  state.state = stat[name_end + 2];
  state.parent = static_cast<pid_t>(HA_TRY(stat_field(stat, 4)));
  state.flags = HA_TRY(stat_field(stat, 9));
  state.user_ticks = HA_TRY(stat_field(stat, 14));
  state.system_ticks = HA_TRY(stat_field(stat, 15));
  state.threads = HA_TRY(stat_field(stat, 20));
  state.start_ticks = HA_TRY(stat_field(stat, 22));
  return state;
}

}  // namespace heapattach
