#include "report/explain/find.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "report/glob.h"

namespace heapattach::explain {

namespace {

using snapshot::Object;
using snapshot::ObjectIndex;
using snapshot::Snapshot;

constexpr std::size_t kMostSuggestions = 5;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& letter : result) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return result;
}

// Types that contain the name, whatever its case.
std::string suggestions(const Snapshot& snapshot, const std::string& name) {
  std::vector<std::string_view> names;
  const std::string wanted = lower(name);
  for (const snapshot::Type& type : snapshot.types) {
    if (lower(type.name).find(wanted) != std::string::npos) names.emplace_back(type.name);
  }
  std::sort(names.begin(), names.end(), [](std::string_view a, std::string_view b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.empty()) return "look for its name with --count";
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostSuggestions); ++i) {
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", names[i]);
  }
  return text;
}

std::vector<ObjectIndex> objects_of(const Snapshot& snapshot, const std::vector<bool>& is_meant) {
  std::vector<ObjectIndex> objects;
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    if (is_meant[snapshot.objects[i].type]) objects.push_back(static_cast<ObjectIndex>(i));
  }
  return objects;
}

}  // namespace

std::optional<std::uint64_t> parse_address(const std::string& text) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return std::nullopt;
  std::uint64_t address = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data() + 2, end, address, 16);
  if (failure != std::errc{} || rest != end) return std::nullopt;
  return address;
}

Result<ObjectIndex> find_object(const Snapshot& snapshot, std::uint64_t address) {
  const auto& objects = snapshot.objects;
  const auto after = std::upper_bound(
      objects.begin(), objects.end(), address,
      [](std::uint64_t wanted, const Object& object) { return wanted < object.address; });
  if (after != objects.begin()) {
    const Object& object = *(after - 1);
    if (address - object.address < snapshot.bytes_of(object)) {
      return static_cast<ObjectIndex>(after - 1 - objects.begin());
    }
  }
  return Error{ErrorKind::Malformed,
               fmt::format("no object of the snapshot stands at {:#x}; try: an address of it, or "
                           "--all if nothing reaches it",
                           address)};
}

Result<std::vector<ObjectIndex>> find_objects(const Snapshot& snapshot, const std::string& type) {
  std::vector<bool> by_name;
  std::vector<bool> by_glob;
  for (const snapshot::Type& known : snapshot.types) {
    by_name.push_back(known.name == type);
    by_glob.push_back(matches_glob(type, known.name));
  }
  auto objects = objects_of(snapshot, by_name);
  if (objects.empty()) objects = objects_of(snapshot, by_glob);
  if (!objects.empty()) return objects;
  return Error{ErrorKind::Malformed, fmt::format("no object is of type '{}'; try: {}", type,
                                                 suggestions(snapshot, type))};
}

}  // namespace heapattach::explain
