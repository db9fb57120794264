#include "integration/other_releases.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "integration/rounds.h"

namespace heapattach {

namespace {

constexpr int kNoSupportedHeap = 5;
constexpr int kPartial = 7;

// Whether `number` is in the text as a whole: "3.1" is not in "13.1.7".
bool has_number(std::string_view text, std::string_view number) {
  const auto is_part = [](char letter) {
    return std::isdigit(static_cast<unsigned char>(letter)) != 0;
  };
  for (std::size_t at = text.find(number); at != std::string_view::npos;
       at = text.find(number, at + 1)) {
    const std::size_t end = at + number.size();
    const bool begins = at == 0 || (!is_part(text[at - 1]) && text[at - 1] != '.');
    if (begins && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

// The first word of digits with dots between them.
std::string number_in(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789.", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const std::size_t last = word.find_last_not_of('.');
    const std::size_t dot = word.find('.');
    if (dot != std::string_view::npos && dot != 0 && dot < last) {
      return std::string(word.substr(0, last + 1));
    }
    at = end + 1;
  }
  return {};
}

}  // namespace

Release release_in(const std::string& program,
                   const std::string& printed,
                   const std::vector<std::string>& tried) {
  Release release{program, number_in(printed), false};
  release.is_tried = std::any_of(tried.begin(), tried.end(), [&](const std::string& one) {
    return release.number == one || release.number.starts_with(one + ".");
  });
  return release;
}

Release release_of(const std::string& program,
                   const std::vector<std::string>& command,
                   const std::vector<std::string>& tried) {
  return release_in(program, run_in_shell("exec \"$@\" 2>&1", command).output, tried);
}

bool may_refuse(const Release& release, const ToolRun& run) {
  const bool is_status = run.status == kNoSupportedHeap || run.status == kPartial;
  return !release.is_tried && !release.number.empty() && is_status &&
         has_number(run.errors, release.number);
}

bool is_refused(const Release& release, const ToolRun& run) {
  if (!may_refuse(release, run)) return false;
  print_untried(release, run.errors);
  return true;
}

void print_untried(const Release& release, const std::string& what) {
  print_figure(
      fmt::format("{} {} was not tried before: {}", release.program, release.number, what));
}

}  // namespace heapattach
