#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/model/model.h"

namespace heapattach {

// Numbers the strings of a .heapsnapshot.
class HeapsnapshotStrings {
 public:
  HeapsnapshotStrings();

  std::uint32_t number_of(std::string_view text);
  [[nodiscard]] const std::deque<std::string>& all() const { return texts_; }

 private:
  std::deque<std::string> texts_;  // a deque, because the map refers to the texts
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

// The names of the edges from objects of one type.
class HeapsnapshotEdgeNames {
 public:
  struct Name {
    bool is_element = false;
    std::uint32_t number = 0;  // of the element, or of a string
  };

  HeapsnapshotEdgeNames(const snapshot::Type& type, HeapsnapshotStrings& strings);

  [[nodiscard]] Name of(std::uint64_t offset) const;

 private:
  // A key of a type that was read from a file (Type::Key).
  struct Key {
    std::uint32_t text = 0;  // 0: the number is that of the element, or an offset
    std::uint32_t unit = 0;  // the unit of its number; 0: no number
    bool is_offset = false;
  };

  void add_keys(const snapshot::Type& type, HeapsnapshotStrings& strings);
  [[nodiscard]] Name of_key(std::uint64_t number) const;
  [[nodiscard]] Name of_plain(std::uint64_t offset) const;

  struct Path {
    std::uint64_t offset = 0;
    std::uint32_t text = 0;  // 0: the element itself
  };

  std::vector<Path> fixed_;
  std::vector<Path> in_element_;
  std::uint64_t elements_at_ = 0;
  std::uint64_t element_bytes_ = 0;  // 0: no elements
  std::uint32_t first_plain_ = 0;    // the string "+0"; "+8" and so on follow
  std::vector<Key> keys_;            // as Type::keys
  std::size_t first_numbered_ = 0;   // of them
};

}  // namespace heapattach
