#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/model/json_keys.h"
#include "report/model/model.h"

namespace heapattach::analyze {

// The names of a snapshot's edges. They are the same as in `refs` of a written snapshot, so reports
// on a process and on its saved snapshot agree. Borrows the snapshot and caches the names.
class EdgeNames {
 public:
  explicit EdgeNames(const snapshot::Snapshot& snapshot) : snapshot_(snapshot) {}

  // "@user", "[3].key", "+16". `word` comes from an Edge of the object `from`.
  [[nodiscard]] std::string name(snapshot::ObjectIndex from, std::uint32_t word);

  // The number of a name that is the same for all elements of an array, "[*].key", and for all
  // words of an untyped block that is too large for a structure, "+*".
  [[nodiscard]] std::uint32_t kind(snapshot::ObjectIndex from, std::uint32_t word);
  [[nodiscard]] const std::string& kind_name(std::uint32_t kind) const { return kinds_[kind]; }
  // The number of a name, even if no edge has it.
  [[nodiscard]] std::uint32_t kind_of_name(std::string name);

 private:
  [[nodiscard]] std::string name_in(snapshot::TypeIndex type, std::uint32_t word);
  [[nodiscard]] std::string kind_name_in(const snapshot::Object& object, std::uint32_t word);

  const snapshot::Snapshot& snapshot_;
  std::vector<std::unique_ptr<JsonKeys>> keys_;  // by type; null: not needed yet
  std::vector<std::string> kinds_;
  std::unordered_map<std::string, std::uint32_t> kind_numbers_;
  std::unordered_map<std::uint64_t, std::uint32_t>
      known_;  // by type, whether it is large, and word
};

}  // namespace heapattach::analyze
