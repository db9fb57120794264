#include "attach/kernel/kept_words.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "attach/process/kernel_text.h"

namespace heapattach {

namespace {

constexpr int kHex = 16;
constexpr int kOctal = 8;

std::string file_of(const Descriptor& one) {
  return fmt::format("fd/{}", one.number);
}

std::string facts_of(const Process& process, const Descriptor& one) {
  auto text = process.read_file(fmt::format("fdinfo/{}", one.number));
  return text ? std::move(*text) : std::string();
}

// Reads shared memory as files, each once. Skips a file if the caller reads all that it stores
// through its mappings.
class MemoryFiles {
 public:
  MemoryFiles(const Process& process, const KeptLimits& limits, KeptByKernel& kept)
      : process_(process), limits_(limits), kept_(kept), left_(limits.file_bytes) {}

  // Returns false if the file cannot be opened.
  bool read(const std::string& name, std::string_view words) {
    const auto file = open_memory_file(process_, name);
    if (!file) return false;
    if (!seen_.insert(file->id).second) return true;
    const auto mapped = limits_.mapped.find(file->id);
    if (mapped != limits_.mapped.end() && mapped->second.read_bytes() >= file->stored_bytes) {
      return true;
    }
    KeptWords found{words, contents_of(*file, left_)};
    const bool is_cut = found.bytes.size() == left_ && file->stored_bytes > left_;
    if (is_cut) kept_.left_out_bytes += file->stored_bytes - left_;
    left_ -= found.bytes.size();
    if (!found.bytes.empty()) kept_.words.push_back(std::move(found));
    return true;
  }

  void read_mapped() {
    for (const auto& [id, file] : limits_.mapped) {
      if (file.absent_bytes == 0 || seen_.contains(id)) continue;
      if (!read(file.name, "(shared memory)")) kept_.left_out_bytes += file.absent_bytes;
    }
  }

 private:
  const Process& process_;
  const KeptLimits& limits_;
  KeptByKernel& kept_;
  std::uint64_t left_;
  std::set<FileId> seen_;
};

// Descriptors of one kind.
struct Source {
  const Process& process;
  std::span<const Descriptor> all;
  MemoryFiles& files;
  std::chrono::steady_clock::time_point until;

  // Calls visit(descriptor) for each, for as long as there is time.
  template <class Visit>
  void for_each(KeptByKernel& kept, const Visit& visit) const {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (std::chrono::steady_clock::now() > until) {
        kept.left_out_descriptors += all.size() - i;
        return;
      }
      visit(all[i]);
    }
  }
};

void add(std::string_view name, std::span<const std::uint64_t> words, KeptByKernel& kept) {
  if (words.empty()) return;
  const auto bytes = std::as_bytes(words);
  kept.words.push_back({name, {bytes.begin(), bytes.end()}});
}

// They are the process's, and not shown for a thread.
void add_timers(const Process& process, KeptByKernel& kept) {
  constexpr std::size_t kMost = 1U << 24U;
  const auto file = Fd::open_at(process.directory(), "timers", O_RDONLY);
  if (!file) return;
  const auto text = read_all(*file, kMost);
  if (text) add("(value of a timer)", timer_values(*text), kept);
}

void read_epoll(const Source& from, KeptByKernel& kept) {
  std::vector<std::uint64_t> words;
  from.for_each(kept, [&](const Descriptor& one) {
    const std::vector<std::uint64_t> data = epoll_data(facts_of(from.process, one));
    words.insert(words.end(), data.begin(), data.end());
  });
  add("(data of epoll)", words, kept);
}

void read_counters(const Source& from, KeptByKernel& kept) {
  std::vector<std::uint64_t> words;
  from.for_each(kept, [&](const Descriptor& one) {
    const auto count = number_after(facts_of(from.process, one), "eventfd-count", kHex);
    if (count.value_or(0) != 0) words.push_back(*count);
  });
  add("(counter of an eventfd)", words, kept);
}

void count_queues(const Source& from, KeptByKernel& kept) {
  kept.request_queues = from.all.size();
}

// The pipes of which the process has both ends, so that it can read what it wrote.
std::set<std::string> own_pipes(const Source& from, KeptByKernel& kept) {
  constexpr std::uint64_t kModes = 3;  // of the flags, in octal: O_RDONLY, O_WRONLY, O_RDWR
  std::map<std::string_view, std::size_t> ends;
  for (const Descriptor& one : from.all) ++ends[one.link];
  std::map<std::string, std::set<std::uint64_t>> modes;
  from.for_each(kept, [&](const Descriptor& one) {
    if (ends[one.link] < 2) return;
    const auto flags = number_after(facts_of(from.process, one), "flags", kOctal);
    if (flags) modes[one.link].insert(*flags & kModes);
  });
  std::set<std::string> own;
  for (const auto& [pipe, found] : modes) {
    if (found.size() > 1) own.insert(pipe);
  }
  return own;
}

void read_pipes(const Source& from, KeptByKernel& kept) {
  std::set<std::string> left = own_pipes(from, kept);
  if (kept.left_out_descriptors > 0) return;
  KeptWords words{"(bytes in a pipe)", {}, true};
  from.for_each(kept, [&](const Descriptor& one) {
    if (left.erase(one.link) == 0) return;
    const std::vector<std::byte> bytes = pipe_contents(from.process, file_of(one));
    words.bytes.insert(words.bytes.end(), bytes.begin(), bytes.end());
  });
  if (!words.bytes.empty()) kept.words.push_back(std::move(words));
}

void read_memory_files(const Source& from, KeptByKernel& kept) {
  from.for_each(
      kept, [&](const Descriptor& one) { from.files.read(file_of(one), "(contents of a memfd)"); });
}

// The kinds of descriptors that keep words, by the beginning of their links.
struct Keeper {
  std::string_view link;
  void (*read)(const Source& from, KeptByKernel& kept);
};
constexpr std::array kKeepers = {
    Keeper{"anon_inode:[eventpoll]", read_epoll}, Keeper{"anon_inode:[eventfd]", read_counters},
    Keeper{"anon_inode:[io_uring]", count_queues}, Keeper{"pipe:[", read_pipes},
    Keeper{"/memfd:", read_memory_files}};

}  // namespace

std::uint64_t MappedFile::read_bytes() const {
  std::vector<Part> parts = read;
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.offset < b.offset; });
  std::uint64_t bytes = 0;
  std::uint64_t done = 0;  // everything below this offset has been counted
  for (const Part& part : parts) {
    const std::uint64_t end = part.offset + part.bytes;
    if (end <= done) continue;
    bytes += end - std::max(done, part.offset);
    done = end;
  }
  return bytes;
}

std::vector<std::uint64_t> epoll_data(std::string_view fdinfo) {
  constexpr std::string_view kData = "data:";
  std::vector<std::uint64_t> words;
  for_each_line(fdinfo, [&](std::string_view line) {
    const std::size_t at = line.starts_with("tfd:") ? line.find(kData) : std::string_view::npos;
    if (at == std::string_view::npos) return;
    line.remove_prefix(at + kData.size());
    if (const auto word = take_number(line, kHex)) words.push_back(*word);
  });
  return words;
}

// "signal: 10/00007f0c5c0008c0"
std::vector<std::uint64_t> timer_values(std::string_view timers) {
  constexpr std::string_view kSignal = "signal:";
  std::vector<std::uint64_t> words;
  for_each_line(timers, [&](std::string_view line) {
    const std::size_t slash = line.starts_with(kSignal) ? line.find('/') : std::string_view::npos;
    if (slash == std::string_view::npos) return;
    line.remove_prefix(slash + 1);
    if (const auto word = take_number(line, kHex)) words.push_back(*word);
  });
  return words;
}

KeptByKernel read_kept_words(const Process& process, const KeptLimits& limits) {
  KeptByKernel kept;
  MemoryFiles files(process, limits, kept);
  add_timers(process, kept);
  std::array<std::vector<Descriptor>, kKeepers.size()> found;
  for (Descriptor& one : open_descriptors(process, limits.before)) {
    const auto keeper = std::find_if(kKeepers.begin(), kKeepers.end(), [&](const Keeper& row) {
      return one.link.starts_with(row.link);
    });
    if (keeper == kKeepers.end()) continue;
    found[static_cast<std::size_t>(keeper - kKeepers.begin())].push_back(std::move(one));
  }
  for (std::size_t i = 0; i < kKeepers.size(); ++i) {
    if (!found[i].empty()) kKeepers[i].read({process, found[i], files, limits.until}, kept);
  }
  files.read_mapped();
  return kept;
}

}  // namespace heapattach
