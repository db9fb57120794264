#include "report/analyze/edge_names.h"

#include <string_view>
#include <utility>

#include "report/model/split_key.h"
#include "symbols/text/json_grammar.h"

namespace heapattach::analyze {

namespace {

constexpr std::uint64_t kLargestStructure =
    256;  // bytes of an untyped block; a larger one is an array
constexpr std::uint32_t kRememberedWords = 64;

}  // namespace

std::string EdgeNames::name_in(snapshot::TypeIndex type, std::uint32_t word) {
  if (keys_.empty()) keys_.resize(snapshot_.types.size());
  auto& keys = keys_[type];
  if (!keys) keys = std::make_unique<JsonKeys>(snapshot_.types[type]);
  std::string text(keys->longest(), '\0');
  const char* const end = JsonKeys::Cursor(*keys).put(text.data(), std::uint64_t{word} * 8);
  const auto size = static_cast<std::size_t>(end - text.data());
  std::string decoded;
  constexpr std::size_t kQuotesAndColon = 3;
  const auto quoted = std::string_view(text).substr(1, size - kQuotesAndColon);
  (void)decode_escapes(quoted, decoded);
  return decoded;
}

std::string EdgeNames::name(snapshot::ObjectIndex from, std::uint32_t word) {
  return name_in(snapshot_.objects[from].type, word);
}

std::string EdgeNames::kind_name_in(const snapshot::Object& object, std::uint32_t word) {
  std::string name = name_in(object.type, word);
  const snapshot::SplitKey split = snapshot::split_key(name);
  if (split.unit == 1) return std::string(split.before) + '*' + std::string(split.after);
  if (split.unit == 8 && snapshot_.bytes_of(object) > kLargestStructure) return "+*";
  return name;
}

std::uint32_t EdgeNames::kind(snapshot::ObjectIndex from, std::uint32_t word) {
  const snapshot::Object& object = snapshot_.objects[from];
  if (word >= kRememberedWords) return kind_of_name(kind_name_in(object, word));
  const bool is_large = snapshot_.bytes_of(object) > kLargestStructure;
  const std::uint64_t key =
      (std::uint64_t{object.type} * 2 + (is_large ? 1 : 0)) * kRememberedWords + word;
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  const std::uint32_t number = kind_of_name(kind_name_in(object, word));
  known_.emplace(key, number);
  return number;
}

std::uint32_t EdgeNames::kind_of_name(std::string name) {
  const auto next = static_cast<std::uint32_t>(kinds_.size());
  const auto [at, is_new] = kind_numbers_.try_emplace(std::move(name), next);
  if (is_new) kinds_.push_back(at->first);
  return at->second;
}

}  // namespace heapattach::analyze
