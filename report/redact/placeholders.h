#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "report/redact/library_names.h"

namespace heapattach {

// SipHash-2-4 (Aumasson and Bernstein, 2012): without the key, its values cannot be distinguished
// from random ones, however many of them are known.
std::uint64_t sip_hash(const std::array<std::uint64_t, 2>& key, std::string_view text);

// Placeholders for names that must not leave the company: "Type-3f9a1c20b7e4".
//
// With the same key, the same name always gets the same placeholder. The key is derived from the
// program's build id, so that snapshots of one build can be compared. Names can be guessed, and a
// plain hash of a name would confirm a correct guess; sequential numbers would be safe, but
// different in the next snapshot. So the hash is keyed (SipHash-2-4, which is designed for short
// texts and a secret key), and the build id itself is replaced like a name. Only someone who knows
// the build id can test a guess, and such a person has the program and could read the names there.
// If there is no build id, the key is random, and no other snapshot has the same placeholders.
class Placeholders {
 public:
  // If the build id is empty, the key is random.
  Placeholders(std::string_view build_id, Language language);

  [[nodiscard]] bool is_for_one_snapshot_only() const { return is_random_; }

  [[nodiscard]] Language language() const { return language_; }
  // A placeholder: `what`, "-" and twelve digits. The same name of another kind has different
  // digits.
  [[nodiscard]] std::string of(std::string_view what, std::string_view name) const;
  // A placeholder for the build id itself, of the same length.
  [[nodiscard]] std::string of_build_id(std::string_view build_id) const;

  // A type's name, in which library names are kept: Array(Shop::Session) becomes Array(Type-…).
  [[nodiscard]] std::string of_type(std::string_view name) const;
  // The path of a field, "@point.@next" or "items[3].key". Keeps sigils, brackets and numbers and,
  // with `is_of_library`, the names of library types' fields.
  [[nodiscard]] std::string of_path(std::string_view path, bool is_of_library) const;

 private:
  [[nodiscard]] std::uint64_t hash(std::string_view what, std::string_view name) const;

  std::array<std::uint64_t, 2> key_{};
  bool is_random_ = false;
  Language language_;
};

}  // namespace heapattach
