#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/model/model.h"

namespace heapattach {

// The keys of `refs` for the objects of one type. A word's key is its path if the type has one, and
// otherwise "+<offset>". The keys are prepared once, so that writing a key only copies text. No two
// offsets of an object share a key: if two words have the same path, the second has its offset as
// the key, and so has a word whose path looks like another kind of key or is not UTF-8. A path that
// was read from a file is written unchanged.
class JsonKeys {
 public:
  explicit JsonKeys(const snapshot::Type& type);

  // The maximum length of a key, including its colon.
  [[nodiscard]] std::size_t longest() const { return longest_; }

  // Writes the keys of one object. Call it with ascending offsets.
  class Cursor {
   public:
    explicit Cursor(const JsonKeys& keys) : keys_(keys) {}
    // Writes the key of the word at `offset` to `at`. Returns the end of the text.
    char* put(char* at, std::uint64_t offset);

   private:
    const JsonKeys& keys_;
    std::size_t next_ = 0;             // in JsonKeys::fixed_
    std::size_t next_in_element_ = 0;  // in JsonKeys::in_element_
    std::uint64_t element_ = 0;        // the number of the last element
  };

 private:
  struct Key {
    std::uint64_t offset = 0;
    // For a fixed offset, the key with quotes and colon; in an element, the part after "[3]".
    std::string text;
  };

  // A key that was read from a file, escaped. Its number, if it has one, is in the middle.
  struct Named {
    std::string before;
    std::string after;
    std::uint32_t unit = 0;
  };

  void add_named(const snapshot::Type& type);
  [[nodiscard]] char* put_named(char* at, std::uint64_t number) const;
  void add_fixed(const snapshot::Type& type);
  void add_elements(const snapshot::Type& type);

  std::vector<Key> fixed_;
  std::vector<Key> in_element_;
  std::string before_element_;  // "\"items["
  std::uint64_t elements_at_ = 0;
  std::uint64_t element_bytes_ = 0;  // 0: no elements
  std::size_t longest_ = 0;
  std::vector<Named> named_;        // as Type::keys
  std::size_t first_numbered_ = 0;  // the first key with a number in named_
};

}  // namespace heapattach
