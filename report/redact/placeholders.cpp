#include "report/redact/placeholders.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <random>

#include <fmt/format.h>

namespace heapattach {

namespace {

class State {
 public:
  explicit State(const std::array<std::uint64_t, 2>& key)
      : v0_(key[0] ^ 0x736f6d6570736575),  // the letters of "somepseudorandomlygeneratedbytes"
        v1_(key[1] ^ 0x646f72616e646f6d),
        v2_(key[0] ^ 0x6c7967656e657261),
        v3_(key[1] ^ 0x7465646279746573) {}

  void add(std::uint64_t word) {
    v3_ ^= word;
    rounds(2);
    v0_ ^= word;
  }
  std::uint64_t finish() {
    v2_ ^= 0xff;
    rounds(4);
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  void rounds(int count) {
    for (; count > 0; --count) {
      v0_ += v1_;
      v2_ += v3_;
      v1_ = std::rotl(v1_, 13) ^ v0_;
      v3_ = std::rotl(v3_, 16) ^ v2_;
      v0_ = std::rotl(v0_, 32);
      v2_ += v1_;
      v0_ += v3_;
      v1_ = std::rotl(v1_, 17) ^ v2_;
      v3_ = std::rotl(v3_, 21) ^ v0_;
      v2_ = std::rotl(v2_, 32);
    }
  }

  std::uint64_t v0_, v1_, v2_, v3_;
};

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

// Also true for bytes that may be part of a letter in UTF-8, or that are not text at all.
bool is_of_word(char letter) {
  const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
  return is_letter || is_digit(letter) || letter == '_' || letter == '$' || letter == '?' ||
         letter == '!' || letter == '@' || static_cast<unsigned char>(letter) >= 0x80;
}

std::size_t word_end(std::string_view text, std::size_t at) {
  while (at < text.size() && is_of_word(text[at])) ++at;
  return at;
}

// The end of the words joined by "::" that begin at `at`.
std::size_t path_end(std::string_view text, std::size_t at) {
  for (;;) {
    at = word_end(text, at);
    const bool goes_on = text.substr(at, 2) == "::" && at + 2 < text.size() &&
                         is_of_word(text[at + 2]) && !is_digit(text[at + 2]);
    if (!goes_on) return at;
    at += 2;
  }
}

// The length of a text that heapattach, compilers or demanglers put next to names; 0 if there is
// none.
std::size_t fixed_part(std::string_view rest) {
  for (const std::string_view part :
       {"(buffer of ", "(closure of ", "(unnamed, in an ", "(unnamed, in a ", "(unknown)",
        "(unknown atomic)", "(unknown uncollectable)", "(unknown custom)", "(type ", " bytes)",
        "(std::make_shared<", "(control block of std::shared_ptr<", "(anonymous namespace)",
        "{lambda(", "[abi:cxx11]"}) {
    if (rest.starts_with(part)) return part.size();
  }
  return 0;
}

// Copies `text`, and replaces each word by the result of `replace`.
template <class End, class Replace>
std::string with_words(std::string_view text, const End& end_of, const Replace& replace) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t fixed = fixed_part(text.substr(at)); fixed != 0) {
      result += text.substr(at, fixed);
      at += fixed;
    } else if (!is_of_word(text[at])) {
      result += text[at++];
    } else {
      const std::size_t end = end_of(text, at);
      const std::string_view word = text.substr(at, end - at);
      const bool is_number = std::all_of(word.begin(), word.end(), is_digit);
      result += is_number ? std::string(word) : replace(word);
      at = end;
    }
  }
  return result;
}

}  // namespace

std::uint64_t sip_hash(const std::array<std::uint64_t, 2>& key, std::string_view text) {
  State state(key);
  const std::uint64_t length = text.size();
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof word);
    state.add(word);
  }
  std::uint64_t last = length << 56;
  for (std::size_t i = 0; i < text.size(); ++i) {
    last |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
  }
  state.add(last);
  return state.finish();
}

Placeholders::Placeholders(std::string_view build_id, Language language)
    : is_random_(build_id.empty()), language_(language) {
  if (is_random_) {
    std::random_device random;
    for (std::uint64_t& half : key_) half = std::uint64_t{random()} << 32 | random();
    return;
  }
  key_ = {sip_hash({1, 0}, build_id), sip_hash({2, 0}, build_id)};
}

std::uint64_t Placeholders::hash(std::string_view what, std::string_view name) const {
  return sip_hash(key_, fmt::format("{}\n{}", what, name));
}

std::string Placeholders::of(std::string_view what, std::string_view name) const {
  if (name.empty()) return {};
  return fmt::format("{}-{:012x}", what, hash(what, name) >> 16);
}

std::string Placeholders::of_build_id(std::string_view build_id) const {
  std::string digits;
  for (std::size_t part = 0; digits.size() < build_id.size(); ++part) {
    fmt::format_to(std::back_inserter(digits), "{:016x}",
                   hash(fmt::format("build id {}", part), build_id));
  }
  return digits.substr(0, build_id.size());
}

std::string Placeholders::of_type(std::string_view name) const {
  return with_words(name, path_end, [&](std::string_view path) {
    return is_library_type(path, language_) ? std::string(path) : of("Type", path);
  });
}

std::string Placeholders::of_path(std::string_view path, bool is_of_library) const {
  return with_words(path, word_end, [&](std::string_view word) {
    if (language_ == Language::Ruby && is_ruby_edge(word)) return std::string(word);
    const std::size_t sigil = std::min(word.find_first_not_of('@'), word.size());
    const std::string_view name = word.substr(sigil);
    const bool is_kept = name.empty() || (is_of_library && is_library_field(name));
    return std::string(word.substr(0, sigil)) + (is_kept ? std::string(name) : of("field", name));
  });
}

}  // namespace heapattach
