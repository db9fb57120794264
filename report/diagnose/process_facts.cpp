#include "report/diagnose/process_facts.h"

#include <algorithm>
#include <charconv>
#include <map>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>

#include "attach/base/directory.h"
#include "attach/base/fd.h"

namespace heapattach::diagnose {

namespace {

constexpr std::string_view kGroups = "/sys/fs/cgroup";
constexpr std::size_t kLongestFile = 64U << 10U;
constexpr std::size_t kMostDescriptors = 1U << 20U;

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

std::optional<std::uint64_t> leading_number(std::string_view text, int base = 10) {
  text = without_blanks(text);
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (parsed.ec != std::errc() || parsed.ptr == text.data()) return {};
  return value;
}

// Calls visit(line) for each line until it returns true.
template <class Visit>
void find_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (visit(text.substr(0, end))) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string file_text(const std::string& path) {
  const auto file = Fd::open(path, O_RDONLY | O_CLOEXEC);
  if (!file) return {};
  auto text = read_all(*file, kLongestFile);
  return text ? std::move(*text) : std::string();
}

std::string own_file(const Process& process, const std::string& name) {
  auto text = process.read_file(name);
  return text ? std::move(*text) : std::string();
}

void read_descriptors(const Process& process, std::string_view limits, ProcessFacts& facts) {
  auto directory = process.open_file("fd", O_RDONLY | O_DIRECTORY);
  if (!directory) return;
  const Directory entries(fdopendir(directory->get()));
  if (!entries) return;
  static_cast<void>(directory->release());  // the DIR has it
  std::map<std::string, std::uint64_t> kinds;
  std::uint64_t count = 0;
  while (const dirent* entry = readdir(entries.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string name = entry->d_name;
    if (name.starts_with('.') || ++count > kMostDescriptors) continue;
    const auto link = process.read_link("fd/" + name);
    if (!link) continue;
    const std::string kind = descriptor_kind(*link);
    kinds[kind] += 1;
    if (kind != "anon_inode:[eventpoll]") continue;
    if (const auto info = process.read_file("fdinfo/" + name)) {
      const auto data = epoll_data(*info);
      facts.kept_by_epoll.insert(facts.kept_by_epoll.end(), data.begin(), data.end());
    }
  }
  facts.descriptors = Use{count, soft_limit(limits, "Max open files")};
  for (auto& [what, number] : kinds) facts.open.push_back({what, number});
  std::stable_sort(facts.open.begin(), facts.open.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
}

// The limit that is nearest to its end, of the group and those around it. `free_of` is the part of
// the use that does not count.
template <class FreeOf>
std::optional<Use> tightest(std::string path,
                            const std::string& now,
                            const std::string& most,
                            const FreeOf& free_of) {
  std::optional<Use> found;
  while (true) {
    const std::string directory = std::string(kGroups) + path;
    const auto limit = leading_number(file_text(directory + most));
    const auto used = leading_number(file_text(directory + now));
    if (limit && used && *limit != 0) {
      const Use use{*used - std::min(*used, free_of(directory)), limit};
      const auto share = [](const Use& of) {
        return static_cast<double>(of.used) / static_cast<double>(*of.limit);
      };
      if (!found || share(use) > share(*found)) found = use;
    }
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos || path.empty()) return found;
    path.resize(slash);
  }
}

void read_group(const Process& process, ProcessFacts& facts) {
  const auto text = process.read_file("cgroup");
  if (!text) return;
  const auto path = group_path(*text);
  if (!path) return;
  facts.tasks =
      tightest(*path, "/pids.current", "/pids.max", [](const auto&) { return std::uint64_t{0}; });
  facts.group_memory =
      tightest(*path, "/memory.current", "/memory.max", [](const std::string& directory) {
        return number_after(file_text(directory + "/memory.stat"), "inactive_file").value_or(0);
      });
}

}  // namespace

std::optional<std::uint64_t> soft_limit(std::string_view limits, std::string_view name) {
  std::optional<std::uint64_t> found;
  find_line(limits, [&](std::string_view line) {
    if (!line.starts_with(name)) return false;
    found = leading_number(line.substr(name.size()));
    return true;
  });
  return found;
}

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view name) {
  std::optional<std::uint64_t> found;
  find_line(text, [&](std::string_view line) {
    if (!line.starts_with(name)) return false;
    line.remove_prefix(name.size());
    if (line.starts_with(':')) line.remove_prefix(1);
    if (!line.starts_with(' ') && !line.starts_with('\t')) return false;
    found = leading_number(line);
    return true;
  });
  return found;
}

std::optional<std::string> group_path(std::string_view cgroup) {
  std::optional<std::string> found;
  find_line(cgroup, [&](std::string_view line) {
    if (!line.starts_with("0::")) return false;
    found = std::string(line.substr(3));
    if (found->ends_with('/')) found->pop_back();
    return true;
  });
  // A group outside of our namespace has a path upwards.
  if (found && found->find("/..") != std::string::npos) return {};
  return found;
}

std::string descriptor_kind(std::string_view link) {
  const std::size_t colon = link.find(":[");
  const bool is_numbered = colon != std::string_view::npos && !link.starts_with("anon_inode");
  if (is_numbered && !link.starts_with('/')) return std::string(link.substr(0, colon));
  return std::string(link);
}

std::vector<std::uint64_t> epoll_data(std::string_view fdinfo) {
  constexpr std::string_view kData = "data:";
  std::vector<std::uint64_t> words;
  find_line(fdinfo, [&](std::string_view line) {
    const std::size_t at = line.starts_with("tfd:") ? line.find(kData) : std::string_view::npos;
    if (at == std::string_view::npos) return false;
    if (const auto word = leading_number(line.substr(at + kData.size()), 16)) {
      words.push_back(*word);
    }
    return false;
  });
  return words;
}

ProcessFacts read_facts(const Process& process) {
  constexpr std::uint64_t kKilobyte = 1024;
  ProcessFacts facts;
  const std::string limits = own_file(process, "limits");
  const std::string status = own_file(process, "status");
  read_descriptors(process, limits, facts);
  if (const auto threads = number_after(status, "Threads")) {
    facts.threads = Use{*threads, soft_limit(limits, "Max processes")};
  }
  facts.resident_bytes = number_after(status, "VmRSS").value_or(0) * kKilobyte;
  facts.swapped_bytes = number_after(status, "VmSwap").value_or(0) * kKilobyte;
  if (const auto maps = process.maps()) {
    facts.mappings =
        Use{maps->mappings().size(), leading_number(file_text("/proc/sys/vm/max_map_count"))};
  }
  read_group(process, facts);
  return facts;
}

}  // namespace heapattach::diagnose
