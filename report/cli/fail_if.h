#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attach/result.h"
#include "report/analyze/difference.h"
#include "report/model/counts.h"

namespace heapattach {

// A condition of --fail-if: a size of a type compared with a number.
struct FailIf {
  enum class What : std::uint8_t {
    Count,        // its objects
    Bytes,        // theirs
    Retained,     // bytes that would be freed with them
    Growth,       // in a difference: additional objects
    GrowthBytes,  // in a difference: additional bytes
  };
  enum class Comparison : std::uint8_t { Greater, GreaterEqual, Less, LessEqual, Equal, NotEqual };
  What what = What::Count;
  std::string type;  // a glob
  Comparison comparison = Comparison::Greater;
  std::uint64_t limit = 0;
  std::string text;  // as the user wrote it

  [[nodiscard]] bool is_of_growth() const {
    return what == What::Growth || what == What::GrowthBytes;
  }
};

// Parses `count(Hash(String, Foo | Nil)) > 10`. The type ends at the parenthesis that closes the
// first one, so it may contain paired ones. The number may end in k, M or G (1024 each).
Result<FailIf> parse_fail_if(std::string_view text);

// Digits with an optional k, M or G. Malformed for anything else, or past 2^64.
Result<std::uint64_t> parse_size(std::string_view text);

// The value that the condition compares: for the reachable objects of all rows whose type matches.
// The table and the difference must have all rows; neither has retained bytes, and the table no
// growth. In a difference, counts and bytes are those of its last snapshot.
[[nodiscard]] std::int64_t measure(const FailIf& condition, const snapshot::CountTable& table);
[[nodiscard]] std::int64_t measure(const FailIf& condition, const analyze::Difference& difference);
[[nodiscard]] bool holds(const FailIf& condition, std::int64_t value);

}  // namespace heapattach
