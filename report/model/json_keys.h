#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/model/model.h"

namespace heapattach {

// The keys of `refs` for the objects of one type: the path of the word if the type has one,
// otherwise "+<offset>". They are prepared once, so that writing a key only copies text. No two
// offsets of an object share a key: of two words with the same path, the second uses its offset,
// and so does a word whose path looks like another kind of key or is not UTF-8. A path that was
// read from a file is written unchanged.
class JsonKeys {
 public:
  explicit JsonKeys(const snapshot::Type& type);

  // The maximum length of a key, including its colon.
  [[nodiscard]] std::size_t longest() const { return longest_; }

  // Writes the keys of one object. Call it with ascending offsets.
  class Cursor {
   public:
    explicit Cursor(const JsonKeys& keys) : keys_(keys) {}
    // Writes at `at`, and returns the end of the text.
    char* put(char* at, std::uint64_t offset);

   private:
    const JsonKeys& keys_;
    std::size_t next_ = 0;             // in JsonKeys::fixed_
    std::size_t next_in_element_ = 0;  // in JsonKeys::in_element_
    std::uint64_t element_ = 0;        // number of the last one
  };

 private:
  struct Key {
    std::uint64_t offset = 0;
    std::string
        text;  // at fixed offsets, with quotes and colon; for elements, the part after "[3]"
  };

  // A key that was read from a file, escaped; its number, if any, is in the middle.
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
  std::size_t first_numbered_ = 0;  // of them
};

}  // namespace heapattach
