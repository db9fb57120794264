#include "symbols/text/json_grammar.h"

#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "symbols/text/utf8.h"

namespace heapattach {

namespace {

bool ends_text(char letter) {
  return letter == '"' || letter == '\\' || static_cast<unsigned char>(letter) < 0x20;
}

// Four digits of hex at `at`.
bool read_unit(const char* at, const char* end, std::uint32_t& out) {
  if (end - at < 4) return false;
  out = 0;
  for (int i = 0; i < 4; ++i) {
    const char letter = at[i];
    std::uint32_t digit = 0;
    if (letter >= '0' && letter <= '9') {
      digit = static_cast<std::uint32_t>(letter - '0');
    } else if ((letter | 0x20) >= 'a' && (letter | 0x20) <= 'f') {
      digit = static_cast<std::uint32_t>((letter | 0x20) - 'a') + 10;
    } else {
      return false;
    }
    out = out << 4 | digit;
  }
  return true;
}

char simple_escape(char letter) {
  switch (letter) {
    case '"':
    case '\\':
    case '/': return letter;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return '\0';
  }
}

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

// The end of the digits from `at` on.
const char* after_digits(const char* at, const char* end) {
  while (at != end && is_digit(*at)) ++at;
  return at;
}

// Appends the meaning of the escape at `at`, which is after its backslash. Returns what is wrong
// with it.
std::string_view decode_escape(const char*& at, const char* end, std::string& out) {
  const char letter = *at++;
  if (letter != 'u') {
    const char plain = simple_escape(letter);
    if (plain == '\0') return "unknown escape";
    out += plain;
    return {};
  }
  std::uint32_t unit = 0;
  if (!read_unit(at, end, unit)) return "\\u without four hexadecimal digits";
  at += 4;
  std::uint32_t second = 0;
  const bool is_high = unit >= 0xd800 && unit < 0xdc00;
  if (is_high && end - at >= 6 && at[0] == '\\' && at[1] == 'u' && read_unit(at + 2, end, second) &&
      second >= 0xdc00 && second < 0xe000) {
    at += 6;
    append_utf8(out, 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00));
  } else {
    append_utf8(out, unit >= 0xd800 && unit < 0xe000 ? 0xfffd : unit);
  }
  return {};
}

// The end of an exponent, if there is one at `at`; null if it has no digits.
const char* end_of_exponent(const char* at, const char* end) {
  if (at == end || (*at | 0x20) != 'e') return at;
  ++at;
  if (at != end && (*at == '+' || *at == '-')) ++at;
  const char* const digits = at;
  at = after_digits(at, end);
  return at == digits ? nullptr : at;
}

}  // namespace

const char* end_of_plain_text(const char* at, const char* end) {
#ifdef __SSE2__  // sixteen letters at a time
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i last_control = _mm_set1_epi8(0x1f);
  for (; end - at >= 16; at += 16) {
    const __m128i text = _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(at)));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(text, last_control), text);
    const __m128i found = _mm_or_si128(
        control, _mm_or_si128(_mm_cmpeq_epi8(text, quote), _mm_cmpeq_epi8(text, backslash)));
    const int mask = _mm_movemask_epi8(found);
    if (mask != 0) return at + __builtin_ctz(static_cast<unsigned>(mask));
  }
#endif
  while (at != end && !ends_text(*at)) ++at;
  return at;
}

std::string_view decode_escapes(std::string_view raw, std::string& out) {
  out.clear();
  const char* const end = raw.data() + raw.size();
  for (const char* at = raw.data(); at != end;) {
    const char* const plain_end = end_of_plain_text(at, end);
    out.append(at, plain_end);
    at = plain_end;
    if (at == end) break;
    if (end - at < 2) return "unterminated string";
    const std::string_view wrong = decode_escape(++at, end, out);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

const char* end_of_number(const char* at, const char* end) {
  if (at != end && *at == '-') ++at;
  const char* const whole = at;
  at = after_digits(at, end);
  if (at == whole || (*whole == '0' && at - whole > 1)) return nullptr;
  if (at != end && *at == '.') {
    const char* const fraction = ++at;
    at = after_digits(at, end);
    if (at == fraction) return nullptr;
  }
  return end_of_exponent(at, end);
}

}  // namespace heapattach
