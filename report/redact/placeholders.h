#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "report/redact/library_names.h"

namespace heapattach {

// Placeholders for names that must not leave the company: "Type-3f9a1c20b7e4".
//
// The same name has the same placeholder wherever the key is the same. The key is derived from the
// build id of the program, so that snapshots of one build can be compared. Names can be guessed,
// and a plain hash of a name would confirm a correct guess; a number in order of appearance would
// be safe, but different in the next snapshot. So the hash is keyed (SipHash-2-4, made for short
// texts and a secret key), and the build id is replaced like a name. Only someone who knows the
// build id can test a guess, and they have the program and could read its names there. If there is
// no build id, the key is random, and no other snapshot has the same placeholders.
class Placeholders {
 public:
  // An empty build id makes a key of its own.
  Placeholders(std::string_view build_id, Language language);

  [[nodiscard]] bool is_for_one_snapshot_only() const { return is_random_; }

  [[nodiscard]] Language language() const { return language_; }
  // "WHAT-" and twelve digits. Names of different kinds have nothing in common.
  [[nodiscard]] std::string of(std::string_view what, std::string_view name) const;
  // As many digits as a build id has, for the build id itself.
  [[nodiscard]] std::string of_build_id(std::string_view build_id) const;

  // A type's name, in which those of libraries stay: Array(Shop::Session) is Array(Type-…).
  [[nodiscard]] std::string of_type(std::string_view name) const;
  // The path of a field, "@point.@next" or "items[3].key"; sigils, brackets and numbers stay.
  // With `is_of_library` also the names that fields of library types have.
  [[nodiscard]] std::string of_path(std::string_view path, bool is_of_library) const;

 private:
  [[nodiscard]] std::uint64_t hash(std::string_view what, std::string_view name) const;

  std::array<std::uint64_t, 2> key_{};
  bool is_random_ = false;
  Language language_;
};

}  // namespace heapattach
