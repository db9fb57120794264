#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "report/analyze/difference.h"
#include "report/model/counts.h"

namespace heapattach {

// A condition of --fail-if: a measure of a type, compared with a number.
struct FailIf {
  enum class What : std::uint8_t {
    Count,        // number of objects
    Bytes,        // bytes of these objects
    Retained,     // bytes that would be freed with them
    Growth,       // additional objects, in a difference
    GrowthBytes,  // additional bytes, in a difference
    Leaked,       // leaked objects, of --leaks
    LeakedBytes,  // bytes of these
    Found,        // whether --diagnose has found a fault; without type and number
    Stuck,        // whether --diagnose has found that it hangs; likewise
    Deadlock,     // whether --stacks has found a deadlock; likewise
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
  // Whether it has neither a type nor a number.
  [[nodiscard]] bool is_a_word() const {
    return what == What::Found || what == What::Stuck || what == What::Deadlock;
  }
  [[nodiscard]] bool is_of_leaks() const {
    return what == What::Leaked || what == What::LeakedBytes;
  }
};

// Parses `count(Hash(String, Foo | Nil)) > 10`. The type ends at the parenthesis that matches the
// first one, so it may contain balanced parentheses. The number may end in k, M or G (1024 each).
Result<FailIf> parse_fail_if(std::string_view text);

// Parses digits with an optional k, M or G. Malformed for anything else, or for 2^64 and above.
Result<std::uint64_t> parse_size(std::string_view text);

// The value that the condition compares, summed over the reachable objects of all rows whose type
// matches. The table or difference must have all rows. Retained bytes are not available here, and a
// table has no growth. In a difference, counts and bytes are from the last snapshot.
[[nodiscard]] std::int64_t measure(const FailIf& condition, const snapshot::CountTable& table);
[[nodiscard]] std::int64_t measure(const FailIf& condition, const analyze::Difference& difference);
[[nodiscard]] bool holds(const FailIf& condition, std::int64_t value);

}  // namespace heapattach
