#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "symbols/nix/facts.h"
#include "symbols/runtimes/heap_view.h"

namespace heapattach::nix {

// An expression of the program.
struct Expression {
  std::string name;   // the name of a lambda, "mkDerivation"; may be empty
  std::string place;  // " at /srv/default.nix:12"; empty: unknown
  bool is_lambda = false;
};

// Reads expressions, positions and names, which are in malloc's memory and do not change during an
// evaluation. Caches what it has read.
class ExpressionReader {
 public:
  // Borrows its arguments.
  ExpressionReader(const Facts& facts, const runtimes::HeapView& view)
      : facts_(facts), view_(view) {}

  // The expression at `at`; null if its first word is not that of an expression.
  const Expression* at(std::uint64_t at);
  // " at FILE:LINE" for a position; empty if it is unknown. For source text that is in no file,
  // FILE is "(string)" or "(stdin)".
  const std::string& place(std::uint64_t position);
  // Whether `position` is that of an expression for a set whose attributes all have their names in
  // the source. Other names are data of the program.
  [[nodiscard]] bool has_names(std::uint64_t position) const;
  // The text of the symbol at `at`, which is a std::string; empty if it is not, or if it has
  // control characters.
  const std::string& symbol(std::uint64_t at);

 private:
  [[nodiscard]] std::uint64_t word(std::uint64_t at) const { return view_.word(at).value_or(0); }
  [[nodiscard]] const ExpressionClass* class_of(std::uint64_t at) const;
  [[nodiscard]] std::string read_text(std::uint64_t at) const;
  [[nodiscard]] std::string read_place(std::uint64_t position);
  [[nodiscard]] std::string place_of(std::uint64_t at, int depth);

  const Facts& facts_;
  const runtimes::HeapView& view_;
  std::unordered_map<std::uint64_t, std::optional<Expression>> expressions_;
  std::unordered_map<std::uint64_t, std::string> places_;
  std::unordered_map<std::uint64_t, std::string> symbols_;
};

}  // namespace heapattach::nix
