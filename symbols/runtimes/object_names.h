#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What the objects of a language's runtime say of themselves, told apart from how it was read.
namespace heapattach::runtimes {

// A kind of object: its name, and the names of its words.
struct Shape {
  struct Word {
    std::uint64_t offset = 0;
    std::string name;  // "car"

    friend auto operator<=>(const Word&, const Word&) = default;
  };

  std::string name;                      // "pair", "<session>", "(entries of hash-table)"
  std::string holder = {};               // what it is a part of: "hash-table"; empty: of nothing
  std::vector<Word> words = {};          // at fixed places, by offset
  std::uint64_t elements_at = 0;         // of an array: where its elements begin
  std::uint64_t element_bytes = 0;       // of one; 0: it is no array
  std::vector<Word> element_words = {};  // within one; an empty name is the element itself

  friend auto operator<=>(const Shape&, const Shape&) = default;
};

using ShapeNumber = std::uint32_t;

// Whose parts the collector's own objects are: "(finalizer of the collector)".
inline constexpr std::string_view kCollector = "the collector";

// The part of something else that holds no objects of its own kind: "(text of string)".
[[nodiscard]] Shape part_of(std::string_view holder, std::string_view what);

// The shapes of a heap's objects, by Heap::number.
class ObjectNames {
 public:
  static constexpr ShapeNumber kNone = ~ShapeNumber{0};

  explicit ObjectNames(std::uint64_t slots = 0) : of_(slots, kNone) {}

  // The number of a shape, which is made if there is none like it.
  ShapeNumber intern(Shape shape);
  [[nodiscard]] bool has(std::uint64_t number) const { return at(number) != kNone; }
  void set(std::uint64_t number, ShapeNumber shape) { of_[number] = shape; }

  [[nodiscard]] const std::vector<Shape>& shapes() const { return shapes_; }
  // kNone: not known.
  [[nodiscard]] ShapeNumber at(std::uint64_t number) const {
    return number < of_.size() ? of_[number] : kNone;
  }

 private:
  std::vector<Shape> shapes_;
  std::map<Shape, ShapeNumber> numbers_;
  std::vector<ShapeNumber> of_;
};

}  // namespace heapattach::runtimes
