// Structs whose further members a number in each instance chooses: the part of TypeRows that knows
// which members an instance has.

#include <algorithm>
#include <cstring>
#include <utility>

#include "report/typing/type_rows.h"

namespace heapattach::snapshot {

namespace {

constexpr int kDeepest = 16;  // choices inside branches of choices
constexpr std::size_t kMostConditions = 1U << 20U;

std::optional<std::uint64_t> number_at(std::span<const std::byte> contents,
                                       std::uint64_t offset,
                                       std::uint64_t bytes) {
  std::uint64_t number = 0;
  if (bytes > sizeof number || offset > contents.size() || bytes > contents.size() - offset) {
    return std::nullopt;
  }
  std::memcpy(&number, contents.data() + offset, bytes);
  return number;
}

bool is_in(const std::vector<types::Choice::Range>& numbers, std::uint64_t number) {
  return std::any_of(numbers.begin(), numbers.end(), [number](const types::Choice::Range& range) {
    return range.first <= number && number <= range.last;
  });
}

}  // namespace

// The claims of the members that are valid only for some numbers. `map` is at offset `at` in the
// instance or element.
void TypeRows::add_choice_claims(const PointerMap& map,
                                 std::uint64_t at,
                                 std::uint32_t condition,
                                 std::vector<Claim>& claims,
                                 int depth) {
  if (depth > kDeepest) return;
  for (const auto& [offset, ref] : map.choices) {
    if (!model_[ref].choice) continue;
    const types::Choice& choice = *model_[ref].choice;
    for (const types::Choice::Branch& branch : choice.branches) {
      const PointerMap further = further_of(branch.type, offset, map);
      const std::uint32_t met =
          add_condition({at + offset + choice.offset, choice.bytes, branch.numbers, condition});
      if (met == 0) return;
      const std::size_t first = claims.size();
      for (PointerWord word : further.words) {
        word.offset += at + offset;
        add_claims(word, claims);
      }
      for (std::size_t i = first; i < claims.size(); ++i) claims[i].condition = met;
      add_choice_claims(further, at + offset, met, claims, depth + 1);
    }
  }
}

// The words and choices of a branch that `map`, which contains the struct at `offset`, does not
// have.
PointerMap TypeRows::further_of(types::TypeRef branch,
                                std::uint64_t offset,
                                const PointerMap& map) {
  PointerMap further = map_of(branch);
  std::erase_if(further.words, [&](const PointerWord& word) {
    return std::any_of(map.words.begin(), map.words.end(), [&](const PointerWord& known) {
      return known.offset == offset + word.offset && known.kind != WordKind::Conservative;
    });
  });
  const auto& known = map.choices;
  std::erase_if(further.choices, [&](const auto& one) {
    return std::find(known.begin(), known.end(), std::pair(offset + one.first, one.second)) !=
           known.end();
  });
  return further;
}

// Returns 0 if there are too many.
std::uint32_t TypeRows::add_condition(ClaimCondition condition) {
  if (conditions_.size() >= kMostConditions) return 0;
  conditions_.push_back(std::move(condition));
  return static_cast<std::uint32_t>(conditions_.size() - 1);
}

bool TypeRows::is_met(std::uint32_t condition,
                      std::span<const std::byte> contents,
                      std::uint64_t from) const {
  while (condition != 0) {
    const ClaimCondition& one = conditions_[condition];
    const auto number = number_at(contents, from + one.offset, one.bytes);
    if (!number || !is_in(one.numbers, *number)) return false;
    condition = one.other;
  }
  return true;
}

// Adds a row for the instances of each branch of the row's type. The rows have the same name, and
// other paths and fields.
void TypeRows::add_chosen_rows(TypeIndex row, int depth) {
  const types::TypeRef ref = refs_[row];
  if (ref == types::kNoType || !model_[ref].choice || depth > kDeepest) return;
  std::vector<TypeIndex> rows;
  for (const types::Choice::Branch& branch : model_[ref].choice->branches) {
    Type type = types_[row];
    type.paths.clear();
    type.fields.clear();
    RowLayout layout;
    fill_instance(branch.type, map_of(branch.type), layout, type);
    layout.known_to = std::min(layout.known_to, layouts_[row].known_to);
    const TypeIndex chosen = add_row(std::move(type), branch.type);
    layouts_[chosen] = std::move(layout);
    rows.push_back(chosen);
    add_chosen_rows(chosen, depth + 1);
  }
  choices_.emplace(row, std::move(rows));
}

TypeIndex TypeRows::choose(TypeIndex row, std::span<const std::byte> contents) const {
  auto found = choices_.find(row);
  while (found != choices_.end()) {
    const types::Choice& choice = *model_[refs_[row]].choice;
    const auto number = number_at(contents, choice.offset, choice.bytes);
    if (!number) return row;
    const auto branch = std::find_if(choice.branches.begin(), choice.branches.end(),
                                     [&](const auto& one) { return is_in(one.numbers, *number); });
    if (branch == choice.branches.end()) return row;
    row = found->second[static_cast<std::size_t>(branch - choice.branches.begin())];
    found = choices_.find(row);
  }
  return row;
}

}  // namespace heapattach::snapshot
