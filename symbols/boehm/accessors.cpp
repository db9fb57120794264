#include "symbols/boehm/accessors.h"

#include <utility>

#include <fmt/format.h>

#include "attach/base/word.h"
#include "symbols/boehm/accessor_patterns.h"

// The expressions to find, for an argument p:
//
//   bottom index   load(top + ((p >> a) & b) * 8), or load(bottom index + chain)
//   header         load(bottom index + ((p >> c) & d) * 8)
//   size           load(header + size)
//   kind           load(header + kind), one byte wide
//
// and the comparisons of the loop along the hash chain:
//
//   load(bottom index + key) with p >> a, bottom index with load(all_nils)

namespace heapattach::boehm {

namespace {

// A value learned from several paths; they must agree.
template <class T>
class Learned {
 public:
  void add(T value) {
    if (value_ && *value_ != value) is_ambiguous_ = true;
    if (!value_) value_ = value;
  }
  [[nodiscard]] bool is_known() const { return value_ && !is_ambiguous_; }
  [[nodiscard]] const T& operator*() const { return *value_; }

 private:
  std::optional<T> value_;
  bool is_ambiguous_ = false;
};

// Combines what all paths show.
class LayoutReader {
 public:
  explicit LayoutReader(const ExprPool& pool) : match_(pool) {}

  // An expression that may be a field of a header: learns how to reach it, and its offset.
  void read_size(Expr expr) {
    if (const auto offset = read_header_field(expr, kWordBytes)) size_.add(*offset);
  }
  void read_kind(Expr expr) {
    if (const auto offset = read_header_field(expr, 1)) kind_.add(*offset);
  }

  void read_loop(const FunctionPath& path) {
    for (const Comparison& comparison : path.comparisons) {
      read_comparison(comparison.left, comparison.right);
      read_comparison(comparison.right, comparison.left);
    }
  }

  Result<AccessorLayout> result(bool with_kind) const {
    if (!top_index_.is_known()) return missing("the top index");
    if (!bottom_mask_.is_known()) return missing("the bottom index");
    if (!size_.is_known()) return missing("the size of a block's objects");
    if (with_kind && !kind_.is_known()) return missing("the kind of a block");
    if (chain_.is_known() && !key_.is_known()) return missing("the key of a bottom index");
    if (!all_nils_.is_known() && chain_.is_known()) return missing("the end of the hash chain");
    AccessorLayout found;
    Layout& layout = found.layout;
    layout.top_index = *top_index_;
    layout.top_shift = *top_shift_;
    layout.top_mask = *top_mask_;
    layout.block_shift = *block_shift_;
    layout.bottom_mask = *bottom_mask_;
    layout.has_hash_chain = chain_.is_known();
    if (key_.is_known()) layout.bottom_key = *key_;
    if (chain_.is_known()) layout.bottom_next = *chain_;
    layout.header_size = *size_;
    layout.header_descriptor = *size_ + kWordBytes;
    if (kind_.is_known()) layout.header_kind = *kind_;
    layout.header_flags = layout.header_kind + 1;
    if (all_nils_.is_known()) {
      found.all_nils = (*all_nils_).first;
      found.all_nils_is_variable = (*all_nils_).second;
    }
    return found;
  }

 private:
  static Error missing(std::string_view what) {
    return {ErrorKind::Malformed,
            fmt::format("its accessor functions do not show where {} is", what)};
  }

  bool read_bottom_index(Expr expr) {
    if (const auto top = match_.top_slot(expr)) {
      top_index_.add(top->top_index);
      top_shift_.add(top->index.shift);
      top_mask_.add(top->index.mask);
      return true;
    }
    const auto next = match_.field(expr, kWordBytes);
    if (!next || !read_bottom_index(next->base)) return false;
    chain_.add(next->offset);
    return true;
  }

  std::optional<std::uint64_t> read_header_field(Expr expr, unsigned width) {
    const auto field = match_.field(expr, width);
    if (!field) return std::nullopt;
    const auto slot = match_.header_slot(field->base);
    if (!slot || !read_bottom_index(slot->base)) return std::nullopt;
    block_shift_.add(slot->index.shift);
    bottom_mask_.add(slot->index.mask);
    return field->offset;
  }

  // Only a certain bottom index counts: code outside the loop compares values, too.
  void read_comparison(Expr left, Expr right) {
    if (const auto field = match_.field(left, kWordBytes); field && is_bottom_index(field->base)) {
      const auto shift = match_.shifted_argument(right);
      if (shift && top_shift_.is_known() && *shift == *top_shift_) key_.add(field->offset);
    }
    if (!is_bottom_index(left)) return;
    if (const auto variable = match_.variable(right, kWordBytes)) all_nils_.add({*variable, true});
    if (const auto fixed = constant(right)) all_nils_.add({*fixed, false});
  }

  [[nodiscard]] bool is_bottom_index(Expr expr) const {
    if (match_.top_slot(expr)) return true;
    const auto next = match_.field(expr, kWordBytes);
    return next && chain_.is_known() && next->offset == *chain_ && is_bottom_index(next->base);
  }

  [[nodiscard]] std::optional<RemoteAddr> constant(Expr expr) const {
    const auto value = match_.constant(expr);
    // A null check is not a comparison with the empty index.
    if (!value || *value == 0) return std::nullopt;
    return RemoteAddr{*value};
  }

  Matcher match_;
  Learned<RemoteAddr> top_index_;
  Learned<unsigned> top_shift_;
  Learned<std::uint64_t> top_mask_;
  Learned<unsigned> block_shift_;
  Learned<std::uint64_t> bottom_mask_;
  Learned<std::uint64_t> chain_;
  Learned<std::uint64_t> key_;
  Learned<std::uint64_t> size_;
  Learned<std::uint64_t> kind_;
  Learned<std::pair<RemoteAddr, bool>> all_nils_;
};

// The flag that a path sets to 1 and then to 0.
std::optional<RemoteAddr> set_and_cleared(const ExprPool& pool, const FunctionPath& path) {
  std::optional<RemoteAddr> set;
  for (const Store& store : path.stores) {
    const auto address = pool.constant_of(store.address);
    const auto value = pool.constant_of(store.value);
    if (!address || !value || (store.width != 1 && store.width != 4)) continue;
    if (*value == 1) set = RemoteAddr{*address};
    if (*value == 0 && set == RemoteAddr{*address}) return set;
  }
  return std::nullopt;
}

}  // namespace

CodeSource code_of(const Module& module, const MemoryReader& memory) {
  CodeSource source;
  source.code = [&module](RemoteAddr at) -> std::span<const std::byte> {
    for (const Segment& segment : module.segments()) {
      if (segment.executable && segment.range.contains(at)) return module.file_bytes(at);
    }
    return {};
  };
  // Data that is read-only after relocation holds the global offset table, with the addresses that
  // the dynamic linker chose.
  source.constant = [&module, &memory](RemoteAddr at) -> std::optional<std::uint64_t> {
    const auto relro = module.relro();
    if (!relro || !relro->contains(at) || !relro->contains(at + 7)) return std::nullopt;
    const auto word = memory.read_as<std::uint64_t>(at);
    if (!word) return std::nullopt;
    return *word;
  };
  return source;
}

Result<AccessorLayout> AccessorReader::read_layout(RemoteAddr size,
                                                   std::optional<RemoteAddr> kind_and_size) {
  ExprPool pool;
  const EvaluationLimits limits;
  LayoutReader reader(pool);
  auto paths = evaluate(pool, disassembler_, source_, size, limits);
  for (const FunctionPath& path : paths) reader.read_size(path.returned);
  if (kind_and_size) {
    auto more = evaluate(pool, disassembler_, source_, *kind_and_size, limits);
    for (const FunctionPath& path : more) {
      reader.read_kind(path.returned);
      for (const Store& store : path.stores) reader.read_size(store.value);
    }
    paths.insert(paths.end(), more.begin(), more.end());
  }
  for (const FunctionPath& path : paths) reader.read_loop(path);
  return reader.result(kind_and_size.has_value());
}

std::optional<AccessorReader::Difference> AccessorReader::read_counter(RemoteAddr function) {
  ExprPool pool;
  const Matcher match(pool);
  for (const FunctionPath& path : evaluate(pool, disassembler_, source_, function, {})) {
    for (const unsigned width : {8U, 4U, 1U}) {
      if (const auto variable = match.variable(path.returned, width)) {
        return Difference{*variable, std::nullopt};
      }
    }
    if (const auto variable = match.sign_extended_byte(path.returned)) {
      return Difference{*variable, std::nullopt};
    }
    const ExprNode& sum = pool.at(path.returned);
    if (sum.op != ExprOp::Sum || sum.terms.size() != 2 || sum.constant != 0) continue;
    for (const auto& [plus, minus] : {std::pair(0, 1), std::pair(1, 0)}) {
      const ExprTerm& more = sum.terms[static_cast<std::size_t>(plus)];
      const ExprTerm& less = sum.terms[static_cast<std::size_t>(minus)];
      const auto variable = match.variable(more.of, kWordBytes);
      const auto subtracted = match.variable(less.of, kWordBytes);
      if (more.factor == 1 && less.factor == ~std::uint64_t{0} && variable && subtracted) {
        return Difference{*variable, subtracted};
      }
    }
  }
  return std::nullopt;
}

std::optional<std::vector<RemoteAddr>> AccessorReader::read_sum(RemoteAddr function) {
  ExprPool pool;
  const Matcher match(pool);
  const auto paths = evaluate(pool, disassembler_, source_, function, {});
  if (paths.size() != 1) return std::nullopt;
  const ExprNode& sum = pool.at(paths[0].returned);
  if (sum.op != ExprOp::Sum || sum.constant != 0) return std::nullopt;
  std::vector<RemoteAddr> variables;
  for (const ExprTerm& term : sum.terms) {
    const auto variable = match.variable(term.of, kWordBytes);
    if (!variable || term.factor != 1) return std::nullopt;
    variables.push_back(*variable);
  }
  return variables;
}

std::optional<std::uint64_t> AccessorReader::read_constant(RemoteAddr function,
                                                           const EvaluationLimits& limits) {
  ExprPool pool;
  const auto paths = evaluate(pool, disassembler_, source_, function, limits);
  if (paths.size() != 1) return std::nullopt;
  return pool.constant_of(paths[0].returned);
}

std::optional<RemoteAddr> AccessorReader::read_setter(RemoteAddr function) {
  ExprPool pool;
  Learned<RemoteAddr> variable;
  // Ignores locking and unlocking around it.
  for (const auto& path : evaluate(pool, disassembler_, source_, function, {.call_depth = 0})) {
    for (const Store& store : path.stores) {
      const ExprNode& value = pool.at(store.value);
      const auto address = pool.constant_of(store.address);
      const bool is_first_argument = value.op == ExprOp::Argument && value.constant == 0;
      if (address && is_first_argument) variable.add(RemoteAddr{*address});
    }
  }
  if (!variable.is_known()) return std::nullopt;
  return *variable;
}

std::optional<RemoteAddr> AccessorReader::read_flag_table(RemoteAddr function) {
  ExprPool pool;
  const Matcher match(pool);
  Learned<RemoteAddr> table;
  for (const FunctionPath& path : evaluate(pool, disassembler_, source_, function, {})) {
    for (const Store& store : path.stores) {
      const ExprNode& sum = pool.at(store.address);
      const bool is_entry = sum.op == ExprOp::Sum && sum.terms.size() == 1 &&
                            sum.terms[0].factor == 1 && match.is_argument(sum.terms[0].of);
      if (!is_entry || store.width != 1 || pool.constant_of(store.value) != 1) continue;
      table.add(RemoteAddr{sum.constant});
    }
  }
  if (!table.is_known()) return std::nullopt;
  return *table;
}

AccessorReader::Activity AccessorReader::read_activity(RemoteAddr function) {
  ExprPool pool;
  const Matcher match(pool);
  Learned<RemoteAddr> collecting;
  Learned<RemoteAddr> mark_state;
  // Calls are not followed: the pattern is in the function itself.
  const auto paths = evaluate(pool, disassembler_, source_, function, {.call_depth = 0});
  for (const FunctionPath& path : paths) {
    if (const auto state = match.condition_on_variable(path.returned)) mark_state.add(*state);
    if (const auto flag = set_and_cleared(pool, path)) collecting.add(*flag);
  }
  Activity activity;
  if (collecting.is_known()) activity.collecting = *collecting;
  if (mark_state.is_known()) activity.mark_state = *mark_state;
  return activity;
}

}  // namespace heapattach::boehm
