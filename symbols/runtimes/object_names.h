#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The names that a language's runtime gives to objects, independent of how they were read.
namespace heapattach::runtimes {

// A kind of object: its name, and the names of its words.
struct Shape {
  struct Word {
    std::uint64_t offset = 0;
    std::string name;       // "car"
    std::string type = {};  // as declared; empty: unknown

    friend auto operator<=>(const Word&, const Word&) = default;
  };

  struct Named {
    std::int64_t value = 0;
    std::string name;

    friend auto operator<=>(const Named&, const Named&) = default;
  };

  // A value in an object that is not a reference.
  struct Number {
    enum class Kind : std::uint8_t {
      Unsigned,
      Signed,
      Float,
      Boolean,
      Character,  // one unit of UTF-16
      Decimal,    // .NET's: 16 bytes
      Unread,     // it is there, but how to read it is unknown
    };
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    Kind kind = Kind::Unread;
    std::string name;  // "Total"
    std::string type;  // in the language's words: "System.Int32"
    // The names of an enumeration's values. A value without a name is shown as a text, too: "5".
    std::vector<Named> names = {};

    friend auto operator<=>(const Number&, const Number&) = default;
  };

  std::string name;                      // "pair", "<session>", "(entries of hash-table)"
  std::string holder = {};               // the type that it belongs to: "hash-table"; empty: none
  std::vector<Word> words = {};          // at fixed offsets, in order
  bool has_only_references = false;      // in `words`; otherwise a word may be a value itself
  std::vector<Number> numbers = {};      // at fixed offsets, in order
  std::uint64_t elements_at = 0;         // the offset of an array's first element
  std::uint64_t element_bytes = 0;       // of an element; 0: not an array
  std::vector<Word> element_words = {};  // within an element; an empty name is the element itself
  // The offsets, in a text in UTF-16, of its length in units, an int, and of its first unit. 0: the
  // object is not a text.
  std::uint64_t length_at = 0;
  std::uint64_t text_at = 0;

  friend auto operator<=>(const Shape&, const Shape&) = default;
};

using ShapeNumber = std::uint32_t;

// The shape of a part of another object: "(text of string)".
[[nodiscard]] Shape part_of(std::string_view holder, std::string_view what);

// The shapes of a heap's objects, by Heap::number.
class ObjectNames {
 public:
  static constexpr ShapeNumber kNone = ~ShapeNumber{0};

  explicit ObjectNames(std::uint64_t slots = 0) : of_(slots, kNone) {}

  // Returns the number of a shape, and adds the shape if it is new.
  ShapeNumber intern(Shape shape);
  [[nodiscard]] bool has(std::uint64_t number) const { return at(number) != kNone; }
  void set(std::uint64_t number, ShapeNumber shape) { of_[number] = shape; }
  // Adds a sentence for the user: why names are missing or may be wrong.
  void warn(std::string text) { warnings_.push_back(std::move(text)); }

  [[nodiscard]] const std::vector<Shape>& shapes() const { return shapes_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  // kNone: unknown.
  [[nodiscard]] ShapeNumber at(std::uint64_t number) const {
    return number < of_.size() ? of_[number] : kNone;
  }

 private:
  std::vector<Shape> shapes_;
  std::map<Shape, ShapeNumber> numbers_;
  std::vector<ShapeNumber> of_;
  std::vector<std::string> warnings_;
};

}  // namespace heapattach::runtimes
