#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attach/result.h"
#include "report/snapshot/counts.h"

namespace heapattach {

// A condition of --fail-if: count(TYPE) or bytes(TYPE) compared with a number.
struct FailIf {
  enum class What : std::uint8_t { Count, Bytes };
  enum class Comparison : std::uint8_t { Greater, GreaterEqual, Less, LessEqual, Equal, NotEqual };
  What what = What::Count;
  std::string type;  // a glob
  Comparison comparison = Comparison::Greater;
  std::uint64_t limit = 0;
  std::string text;  // as the user wrote it
};

// Reads `count(Hash(String, Foo | Nil)) > 10`. The type ends at the parenthesis that closes the
// first one, so it may hold any that are paired. The number may end in k, M or G (1024 each).
Result<FailIf> parse_fail_if(std::string_view text);

// Digits with an optional k, M or G. Malformed for anything else, or past 2^64.
Result<std::uint64_t> parse_size(std::string_view text);

// What the condition looks at: the reachable objects of all rows whose type matches. `table` must
// hold all rows.
[[nodiscard]] std::uint64_t measure(const FailIf& condition, const snapshot::CountTable& table);
[[nodiscard]] bool holds(const FailIf& condition, const snapshot::CountTable& table);

}  // namespace heapattach
