// The completions of the shells.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/cli/help.h"
#include "report/cli/read_values.h"
#include "report/cli/report_table.h"

namespace heapattach {

namespace {

std::string words_of_formats() {
  std::vector<std::string_view> words = names_of(formats_of(row_of(Report::Snapshot)));
  for (const ReportRow& row : report_rows()) {
    for (const std::string_view word : names_of(formats_of(row))) {
      if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
    }
  }
  return fmt::format("{}", fmt::join(words, " "));
}

// The shell offers these words for an option's value. A word that begins with @ names a list.
std::string words_of(std::string_view offers) {
  if (offers == "@format") return words_of_formats();
  if (offers != "@heap") return std::string(offers);
  std::vector<std::string_view> words;
  for (const auto& [name, choice] : heap_choices()) words.push_back(name);
  return fmt::format("{}", fmt::join(words, " "));
}

std::string all_options() {
  std::string words;
  for (const OptionRow& row : option_rows()) words += fmt::format("--{} ", row.name);
  for (const ReportRow& row : report_rows()) {
    if (!option_of(row).empty()) words += fmt::format("--{} ", option_of(row));
  }
  words.pop_back();
  return words;
}

// "-o | --output", the pattern of a shell's case.
std::string pattern(const OptionRow& row) {
  std::string text;
  if (row.letter != 0) text = fmt::format("-{} | ", row.letter);
  return text + fmt::format("--{}", row.name);
}

bool are_files(std::string_view offers) {
  return offers == "@file" || offers == "@directory";
}

// Prints the types of the snapshots on the command line and in the current directory. The types of
// a process are not offered, because it would have to be stopped. Names with spaces or parentheses
// are left out, because every shell quotes them in its own way. %FILES% are the files.
constexpr std::string_view kPrintTypes =
    R"sh(for file in %FILES%; do
    [ -f "$file" ] && gzip -dcf -- "$file" 2>/dev/null | head -n 20000 |
      sed -n 's/^{"record":"type","name":"\([A-Za-z0-9_:]*\)".*/\1/p'
  done | sort -u)sh";

std::string print_types(std::string_view files) {
  std::string text(kPrintTypes);
  constexpr std::string_view kMark = "%FILES%";
  return text.replace(text.find(kMark), kMark.size(), files);
}

// The words after which a type is expected: subcommands, and options with their dashes.
std::vector<std::string> before_types() {
  std::vector<std::string> words;
  for (const ReportRow& row : report_rows()) {
    if (!row.argument.starts_with("TYPE")) continue;
    words.emplace_back(row.name);
    words.push_back(fmt::format("--{}", option_of(row)));
  }
  for (const OptionRow& row : option_rows()) {
    if (row.offers == "@type") words.push_back(fmt::format("--{}", row.name));
  }
  return words;
}

std::string bash() {
  std::string cases;
  for (const OptionRow& row : option_rows()) {
    if (row.argument.empty() || row.offers.empty() || row.offers == "@type") continue;
    std::string words = words_of(row.offers);
    if (row.offers == "@pid") words = "$(cd /proc && echo [0-9]*)";
    if (row.offers == "@process") {
      words = "$(cat /proc/[0-9]*/comm 2>/dev/null | grep -x \"[a-zA-Z0-9._+-]*\" | sort -u)";
    }
    cases += are_files(row.offers) ? fmt::format("    {}) is_file=1 ;;\n", pattern(row))
                                   : fmt::format("    {}) words=\"{}\" ;;\n", pattern(row), words);
  }
  return fmt::format(R"sh(# Completion for bash, written by `heapattach help bash`.
_heapattach_types() {{
  local file
  {}
}}
_heapattach() {{
  # For bash, a colon ends a word, but names of types contain colons.
  local line=${{COMP_LINE:0:COMP_POINT}} prefix=
  local type=${{line##* }} rest=${{line% *}}
  case ${{rest##* }} in
    {})
      mapfile -t COMPREPLY < <(compgen -W "$(_heapattach_types)" -- "$type")
      [[ $COMP_WORDBREAKS == *:* ]] && prefix=${{type%"${{type##*:}}"}}
      COMPREPLY=("${{COMPREPLY[@]#"$prefix"}}")
      [[ ${{#COMPREPLY[@]}} -gt 0 ]] && return ;;
  esac
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} words= is_file=
  [[ $before == "=" && COMP_CWORD -gt 1 ]] && before=${{COMP_WORDS[COMP_CWORD - 2]}}
  [[ $word == "=" ]] && word=
  COMPREPLY=()
  case $before in
{}    *)
      if [[ $word == -* ]]; then
        words="{}"
      else
        words="$(cd /proc && echo [0-9]*)"
        [[ COMP_CWORD -eq 1 ]] && words+=" {}"
        is_file=1
      fi ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  if [[ -n $is_file ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -f -- "$word")
  fi
}}
complete -F _heapattach heapattach
)sh",
                     print_types("\"${COMP_WORDS[@]}\" ./*.jsonl ./*.jsonl.gz"),
                     fmt::join(before_types(), " | "), cases, all_options(),
                     fmt::join(subcommands(), " "));
}

std::string zsh() {
  std::string cases;
  for (const OptionRow& row : option_rows()) {
    if (row.argument.empty() || row.offers.empty() || row.offers == "@type") continue;
    std::string action = fmt::format("compadd {}", words_of(row.offers));
    if (row.offers == "@pid") action = "_pids";
    if (row.offers == "@process") action = "compadd -- ${(f)\"$(ps -eo comm= 2>/dev/null)\"}";
    if (row.offers == "@file") action = "_files";
    if (row.offers == "@directory") action = "_files -/";
    std::string names = pattern(row);
    if (const auto bar = names.find(" | "); bar != std::string::npos) names.replace(bar, 3, "|");
    cases += fmt::format("  {}) {}; return ;;\n", names, action);
  }
  return fmt::format(R"sh(#compdef heapattach
# Completion for zsh, written by `heapattach help zsh`.
setopt local_options null_glob
_heapattach_types() {{
  local file
  {}
}}
case $words[CURRENT-1] in
  {}) compadd -- ${{(f)"$(_heapattach_types)"}}; [[ $PREFIX == -* ]] || return ;;
{}esac
if [[ $PREFIX == -* ]]; then
  compadd -- {}
else
  (( CURRENT == 2 )) && compadd {}
  _alternative 'pids:process:_pids' 'files:snapshot:_files'
fi
)sh",
                     print_types("$words *.jsonl *.jsonl.gz"), fmt::join(before_types(), "|"),
                     cases, all_options(), fmt::join(subcommands(), " "));
}

std::string in_single_quotes(std::string text) {
  for (std::size_t at = 0; (at = text.find_first_of("\\'", at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  return text;
}

std::string fish_option(const OptionRow& row) {
  std::string line = "complete -c heapattach";
  if (row.letter != 0) line += fmt::format(" -s {}", row.letter);
  line += fmt::format(" -l {}", row.name);
  const bool is_optional = row.argument.starts_with('[');
  if (!row.argument.empty() && !is_optional) line += are_files(row.offers) ? " -r" : " -x";
  std::string words = words_of(row.offers);
  if (row.offers == "@pid") words = "(__fish_complete_pids)";
  if (row.offers == "@process") words = "(ps -eo comm=)";
  if (row.offers == "@type") words = "(__heapattach_types)";
  if (!words.empty() && !words.starts_with('@')) line += fmt::format(" -a '{}'", words);
  return line + "\n";
}

std::string fish() {
  std::string text = "# Completion for fish, written by `heapattach help fish`.\n";
  // Fish has a syntax of its own, so sh does it.
  text += fmt::format("function __heapattach_types\n  sh -c '{}' sh (commandline -opc)\nend\n",
                      in_single_quotes(print_types("\"$@\" *.jsonl *.jsonl.gz")));
  for (const ReportRow& row : report_rows()) {
    if (!row.argument.starts_with("TYPE")) continue;
    text += fmt::format(
        "complete -c heapattach -n '__fish_seen_subcommand_from {}' -a '(__heapattach_types)'\n",
        row.name);
  }
  text += fmt::format("complete -c heapattach -n __fish_use_subcommand -a '{}'\n",
                      fmt::join(subcommands(), " "));
  text +=
      "complete -c heapattach -n 'not string match -q -- \"-*\" (commandline -ct)' "
      "-a '(__fish_complete_pids)'\n";
  for (const OptionRow& row : option_rows()) text += fish_option(row);
  for (const ReportRow& row : report_rows()) {
    if (option_of(row).empty()) continue;
    text += fmt::format("complete -c heapattach -l {}{}\n", option_of(row),
                        row.argument.empty() ? "" : " -x");
  }
  return text;
}

}  // namespace

std::string completions(std::string_view shell) {
  if (shell == "bash") return bash();
  return shell == "zsh" ? zsh() : fish();
}

}  // namespace heapattach
