#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/model/model.h"

// Numbers the repeated parts of a snapshot's lines: names of types, keys of edges, sizes. Each
// worker has its own tables, so that none waits for another; they are merged at the end.
namespace heapattach::read {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
template <class Value>
using ByText = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

// The keys of one type. A key is represented by its number in this table and the number inside it,
// if any.
class KeyTable {
 public:
  struct Found {
    std::uint32_t key = 0;
    std::uint32_t number = 0;
  };

  // Looks up or adds a key; `text` must be decoded.
  Found intern(std::string_view text);
  // Finds the key at `at`, up to its closing quote, by a guess from earlier keys. Returns the
  // position of the quote, or null if the guess was wrong. `after` is the previous key in the same
  // object, kFirst if there is none.
  const char* guess(const char* at, const char* end, std::uint32_t after, Found& found) const;
  void learn(std::uint32_t after, std::uint32_t key);

  [[nodiscard]] const std::vector<snapshot::Type::Key>& keys() const { return keys_; }

  static constexpr std::uint32_t kFirst = 0xffffffff;

 private:
  std::uint32_t number_of(snapshot::Type::Key key);

  std::vector<snapshot::Type::Key> keys_;
  std::vector<bool> is_plain_;            // by key: whether the file has it without escapes
  std::vector<std::uint32_t> following_;  // by key: the key that followed it last time
  std::uint32_t first_ = kFirst;          // the key that came first last time
  ByText<std::uint32_t> numbers_;
};

// A type as used in the object lines of one worker.
struct SeenType {
  std::string name;
  KeyTable keys;
  std::vector<std::string> value_paths;
  ByText<std::uint32_t> value_path_numbers;
  std::size_t first_block = 0;  // where it first occurred
  std::size_t first_object = 0;

  std::uint32_t value_path(std::string_view path);
};

struct NameTables {
  std::vector<SeenType> types;
  std::vector<std::uint64_t> sizes;

  std::uint32_t type(std::string_view name, std::size_t block, std::size_t object);
  std::uint32_t size_class(std::uint64_t bytes);

 private:
  // The numbers of the latest few, because neighbours are often alike.
  using Recent = std::array<std::uint32_t, 64>;

  std::uint32_t search_type(std::string_view name, std::size_t block, std::size_t object);

  ByText<std::uint32_t> type_numbers_;
  std::unordered_map<std::uint64_t, std::uint32_t> size_numbers_;
  Recent recent_types_{};
  Recent recent_sizes_{};
};

}  // namespace heapattach::read
