#include "symbols/cxx/demangle.h"

#include <cstdlib>
#include <memory>

#include <cxxabi.h>

namespace heapattach::cxx {
namespace {

// Each reference to an earlier part of the name can double the result. These bounds keep it below a
// few megabytes, and the demangler's recursion below a few hundred calls.
constexpr std::size_t kLongestMangled = 1000;
constexpr int kMostReferences = 14;
constexpr std::size_t kLongestName = 4096;

// "S_", "S1_", "T0_" and so on, even if it is only part of an identifier.
int references_in(std::string_view mangled) {
  int count = 0;
  for (std::size_t end = mangled.find('_'); end != std::string_view::npos;
       end = mangled.find('_', end + 1)) {
    std::size_t begin = end;
    while (begin > 0 && mangled[begin - 1] >= '0' && mangled[begin - 1] <= '9') --begin;
    while (begin > 0 && mangled[begin - 1] >= 'A' && mangled[begin - 1] <= 'Z') --begin;
    if (begin < end &&
        mangled.substr(begin, end - begin).find_first_of("ST") != std::string::npos) {
      ++count;
    }
  }
  return count;
}

bool is_safe_to_demangle(std::string_view mangled) {
  return mangled.size() <= kLongestMangled && references_in(mangled) <= kMostReferences;
}

struct Free {
  void operator()(char* text) const noexcept { std::free(text); }
};

}  // namespace

std::string demangled(std::string_view symbol) {
  const std::string mangled(symbol.substr(0, kLongestName));
  if (!is_safe_to_demangle(mangled)) return mangled;
  int status = 0;
  const std::unique_ptr<char, Free> name(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status));
  if (!name || status != 0) return mangled;
  return std::string(std::string_view(name.get()).substr(0, kLongestName));
}

}  // namespace heapattach::cxx
