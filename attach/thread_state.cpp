#include "attach/thread_state.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace heapattach {

namespace {

// The field with this number in proc(5), from the text that begins with field 3.
Result<std::uint64_t> number_of(std::string_view after_name, int wanted) {
  std::string_view rest = after_name;
  for (int field = 3; field < wanted; ++field) {
    const std::size_t space = rest.find(' ');
    rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
  }
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (parsed.ec == std::errc()) return value;
  return Error{ErrorKind::Malformed, fmt::format("stat has no field {}", wanted)};
}

}  // namespace

Result<ThreadState> parse_thread_state(std::string_view stat) {
  const std::size_t name_begin = stat.find('(');
  // After the name there are only numbers and the state letter, so its end is the last ')'.
  const std::size_t name_end = stat.rfind(')');
  if (name_begin == std::string_view::npos || name_end == std::string_view::npos ||
      name_end < name_begin || name_end + 3 >= stat.size() || stat[name_end + 1] != ' ') {
    return Error{ErrorKind::Malformed, "stat has no name and state"};
  }
  const std::string_view after_name = stat.substr(name_end + 2);
  ThreadState state;
  state.name = stat.substr(name_begin + 1, name_end - name_begin - 1);
  state.state = after_name.front();
  state.flags = HA_TRY(number_of(after_name, 9));
  state.user_ticks = HA_TRY(number_of(after_name, 14));
  state.system_ticks = HA_TRY(number_of(after_name, 15));
  state.threads = HA_TRY(number_of(after_name, 20));
  state.start_ticks = HA_TRY(number_of(after_name, 22));
  return state;
}

}  // namespace heapattach
