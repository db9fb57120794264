#include "report/typing/type_labels.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "symbols/unwind/stacks.h"

namespace heapattach::snapshot {

namespace {

constexpr std::size_t kMostPlaces = 4;  // so many places are examined for one class

// Whether it is one of the runtime's own functions between the allocator and its caller.
bool is_allocator(std::string_view function) {
  const std::size_t at = function.find_last_of(".#:");
  const std::string_view name = at == std::string_view::npos ? function : function.substr(at + 1);
  return function.empty() || name == "malloc" || name == "malloc_atomic" || name == "allocate" ||
         name.starts_with("__crystal_malloc") || name.starts_with("GC_malloc");
}

// The name of the file with its directory.
std::string_view short_path(std::string_view path) {
  const std::size_t file = path.rfind('/');
  if (file == std::string_view::npos || file == 0) return path;
  const std::size_t directory = path.rfind('/', file - 1);
  return directory == std::string_view::npos ? path : path.substr(directory + 1);
}

std::string text_of(const std::vector<unwind::Place>& places) {
  const auto found = std::find_if(places.begin(), places.end(), [](const unwind::Place& place) {
    return !is_allocator(place.function);
  });
  if (found == places.end()) return {};
  std::string text = fmt::format("allocated in {}", found->function);
  if (!found->file.empty() && found->line != 0) {
    text += fmt::format(", {}:{}", short_path(found->file), found->line);
  }
  return text;
}

}  // namespace

std::string label_of(const std::vector<std::vector<unwind::Place>>& made_at) {
  std::string label;
  bool is_elsewhere = false;
  for (const auto& places : made_at) {
    const std::string text = text_of(places);
    if (text.empty()) continue;
    if (label.empty()) label = text;
    is_elsewhere = is_elsewhere || text != label;
  }
  return is_elsewhere ? label + " and elsewhere" : label;
}

void label_types(const Modules& modules,
                 std::chrono::milliseconds time,
                 const Deadline& deadline,
                 crystal::TypeTable& classes) {
  std::vector<RemoteAddr> instructions;
  std::map<std::uint32_t, std::vector<RemoteAddr>> by_type;
  for (const crystal::Type& type : classes.types()) {
    if (!type.name.empty()) continue;
    for (std::size_t i = 0; i < std::min(type.made_at.size(), kMostPlaces); ++i) {
      const RemoteAddr call{type.made_at[i] - 1};  // an address in the call that returns there
      instructions.push_back(call);
      by_type[type.id].push_back(call);
    }
  }
  if (by_type.size() * 2 < classes.types().size()) return;
  const auto found = unwind::find_places(modules, instructions, time, deadline);
  if (!found) return;
  std::map<std::uint64_t, const std::vector<unwind::Place>*> places;
  for (const unwind::CodePlaces& at : *found) places[at.pc.value] = &at.places;
  for (const auto& [id, calls] : by_type) {
    std::vector<std::vector<unwind::Place>> made_at;
    for (const RemoteAddr call : calls) {
      const auto known = places.find(call.value);
      if (known != places.end()) made_at.push_back(*known->second);
    }
    classes.set_label(id, label_of(made_at));
  }
}

}  // namespace heapattach::snapshot
