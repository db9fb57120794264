#include "inject/trace/thread_table.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "attach/base/word.h"

namespace heapattach::trace {

namespace {

constexpr std::uint64_t kMostData = std::uint64_t{4} << 20;
constexpr std::size_t kLists = 256;
constexpr int kMostInList = 64;
constexpr std::size_t kRecordWords = 16;
// The limit of one search. The data comes from the target, where any word may begin a long list,
// and nothing reads the ring during the search.
constexpr int kMostReads = 100'000;

// The hash of the collector's releases since 7.2, or the longer hash since 8.3 (THREAD_TABLE_INDEX
// in pthread_support.c).
std::uint64_t hash_of(std::uint64_t thread, bool is_long) {
  const std::uint64_t hash = thread ^ thread >> 8 ^ (is_long ? thread >> 16 : 0);
  return hash % kLists;
}

class TableSearch {
 public:
  TableSearch(const MemoryReader& memory,
              const MemoryMap& map,
              std::span<const ThreadRecordForm> forms)
      : memory_(memory), map_(map), forms_(forms) {}

  std::optional<ThreadTable> run(Range data, const std::set<std::uint64_t>& threads) {
    std::vector<std::uint64_t> words(data.bytes / kWordBytes);
    const auto got = memory_.read_some(data.start, std::as_writable_bytes(std::span(words)));
    words.resize((got ? *got : 0) / kWordBytes);
    for (std::size_t i = 0; i < words.size() && reads_ < kMostReads; ++i) {
      std::array<std::uint64_t, kRecordWords> record{};
      if (!read_record(words[i], record)) continue;
      for (const ThreadRecordForm& form : forms_) {
        const std::uint64_t thread = record[form.id];
        if (!threads.contains(thread) || !fits(form, record, {words[i]})) continue;
        if (auto table = table_around(words, i, thread, form)) {
          table->at = data.start + table->at.value;
          return table;
        }
      }
    }
    return std::nullopt;
  }

 private:
  // Returns the table whose word at index `i` references the thread's record.
  [[nodiscard]] std::optional<ThreadTable> table_around(std::span<const std::uint64_t> words,
                                                        std::size_t i,
                                                        std::uint64_t thread,
                                                        const ThreadRecordForm& form) const {
    for (const bool is_long : {false, true}) {
      const std::uint64_t before = hash_of(thread, is_long);
      if (before > i || i - before + kLists > words.size()) continue;
      if (!are_lists(words.subspan(i - before, kLists), form, is_long)) continue;
      return ThreadTable{.at = RemoteAddr{(i - before) * kWordBytes},
                         .has_long_hash = is_long,
                         .id_at = form.id * kWordBytes,
                         .part_at = form.part * kWordBytes,
                         .end_at = form.stack_end * kWordBytes};
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_data(std::uint64_t address) const {
    const Mapping* const mapping =
        address % kWordBytes == 0 && address != 0 ? map_.find({address}) : nullptr;
    return mapping != nullptr && mapping->readable && mapping->writable;
  }

  [[nodiscard]] bool read_record(std::uint64_t at,
                                 std::array<std::uint64_t, kRecordWords>& record) const {
    return is_data(at) && ++reads_ <= kMostReads &&
           memory_.read({at}, std::as_writable_bytes(std::span(record))).has_value();
  }

  // Whether `record` may be a thread's record of this form, with the end of a stack.
  [[nodiscard]] bool fits(const ThreadRecordForm& form,
                          const std::array<std::uint64_t, kRecordWords>& record,
                          RemoteAddr at) const {
    if ((record[form.flags] & ~form.known_flags) != 0) return false;
    const RemoteAddr part = form.part != 0 ? RemoteAddr{record[form.part]} : at;
    if (!is_data(part.value)) return false;
    const auto end = memory_.read_as<std::uint64_t>(part + form.stack_end * kWordBytes);
    return end && *end % kWordBytes == 0 && *end != 0 && is_data(*end - kWordBytes);
  }

  // Whether these are lists of records, with at least two records in all.
  [[nodiscard]] bool are_lists(std::span<const std::uint64_t> lists,
                               const ThreadRecordForm& form,
                               bool is_long) const {
    int records = 0;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      std::uint64_t at = lists[i];
      for (int depth = 0; at != 0; ++depth) {
        std::array<std::uint64_t, kRecordWords> record{};
        if (depth == kMostInList || !read_record(at, record)) return false;
        if (hash_of(record[form.id], is_long) != i || !is_data(record[form.id])) return false;
        at = record[0];
        ++records;
      }
    }
    return records > 1;
  }

  const MemoryReader& memory_;
  const MemoryMap& map_;
  std::span<const ThreadRecordForm> forms_;
  mutable int reads_ = 0;
};

}  // namespace

RemoteAddr ThreadTable::list_of(std::uint64_t thread) const {
  return at + hash_of(thread, has_long_hash) * kWordBytes;
}

std::optional<ThreadTable> find_thread_table(const MemoryReader& memory,
                                             const MemoryMap& map,
                                             RemoteAddr data,
                                             const std::set<std::uint64_t>& threads,
                                             std::span<const ThreadRecordForm> forms) {
  const Mapping* const holder = map.find(data);
  if (holder == nullptr) return std::nullopt;
  Range whole = holder->range;
  for (const Mapping& mapping : map.mappings()) {
    if (!mapping.writable) continue;
    if (mapping.range.start == whole.end()) whole.bytes += mapping.range.bytes;
    if (mapping.range.end() == holder->range.start) {
      whole = {mapping.range.start, whole.bytes + mapping.range.bytes};
    }
  }
  const RemoteAddr begin = std::max(whole.start, data - std::min(kMostData, data.value));
  return TableSearch(memory, map, forms)
      .run({begin, std::min(whole.end() - begin, 2 * kMostData)}, threads);
}

}  // namespace heapattach::trace
