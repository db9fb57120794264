// Tests the tables of options and reports, and what is derived from them.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "report/cli/help.h"
#include "report/cli/report_table.h"
#include "report/exit_status.h"

namespace heapattach {

namespace {

Options good(const std::vector<const char*>& arguments) {
  const ParsedOptions parsed = parse_options(arguments);
  if (const auto* wrong = std::get_if<UsageError>(&parsed)) MESSAGE(wrong->message);
  REQUIRE(std::holds_alternative<Options>(parsed));
  return std::get<Options>(parsed);
}

std::string wrong(const std::vector<const char*>& arguments) {
  const ParsedOptions parsed = parse_options(arguments);
  REQUIRE(std::holds_alternative<UsageError>(parsed));
  return std::get<UsageError>(parsed).message;
}

std::string shown(const std::vector<const char*>& arguments) {
  const ParsedOptions parsed = parse_options(arguments);
  REQUIRE(std::holds_alternative<ShowText>(parsed));
  return std::get<ShowText>(parsed).text;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("each option has one name, a line of help, and a reader") {
  std::set<std::string_view> names;
  std::set<char> letters;
  for (const OptionRow& row : option_rows()) {
    CAPTURE(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(find_report_option(row.name) == nullptr);
    if (row.letter != 0) CHECK(letters.insert(row.letter).second);
    CHECK_FALSE(row.help.empty());
    CHECK((row.read != nullptr) == (row.name != "help" && row.name != "version"));
  }
  for (const ReportRow& row : report_rows()) {
    // --serve has no answer, because it is not one run of one report.
    CHECK((row.answer != nullptr || row.report == Report::Serve));
    CHECK((row.read != nullptr) == !row.argument.empty());
  }
}

TEST_CASE("the options of a group are together, so that the help has each heading once") {
  CHECK(std::ranges::is_sorted(option_rows(), {}, &OptionRow::group));
}

TEST_CASE("each report is a subcommand and, except snapshots, an option") {
  CHECK(good({"count", "4711"}).report == Report::Count);
  CHECK(good({"--top", "3", "count", "4711"}).rows.top == 3);
  CHECK(good({"count", "4711", "--top=3"}).pid == 4711);
  CHECK(good({"retained", "4711"}).report == Report::Sizes);
  CHECK(good({"--retained", "4711"}).report == Report::Sizes);
  CHECK(good({"sizes", "4711"}).report == Report::Sizes);
  CHECK(good({"retained", "0x7f12a0", "heap.jsonl"}).report == Report::ObjectSizes);
  CHECK(good({"why", "Session", "4711"}).explain.what == "Session");
  CHECK(good({"diff", "a.jsonl", "b.jsonl"}).compared.size() == 2);
  CHECK(good({"watch", "1m", "4711"}).interval == std::chrono::minutes(1));
  CHECK(good({"watch", "4711"}).interval == std::chrono::seconds(10));
  const Options several = good({"watch", "--when", "rss > 1", "-o", "dumps", "7", "4711"});
  CHECK(several.pids == std::vector<pid_t>{7, 4711});  // 7 is not an interval
  CHECK(several.interval == std::chrono::milliseconds(250));
  const Options often = good({"watch", "50ms", "--when", "rss > 1", "-o", "dumps", "7", "4711"});
  CHECK(often.pids == std::vector<pid_t>{7, 4711});
  CHECK(often.interval == std::chrono::milliseconds(50));
  CHECK(good({"watch", "5", "--when", "rss > 1", "-o", "dumps", "-p", "7"}).interval ==
        std::chrono::seconds(5));
  CHECK(good({"call", "f(1)", "4711"}).call.function == "f");
  CHECK(good({"snapshot", "4711"}).report == Report::Snapshot);
  CHECK(good({"export", "-f", "html", "4711"}).format == find_format("html"));
  CHECK(has(wrong({"export", "4711"}), "pprof"));
  CHECK(good({"count", "--name", "web"}).name == "web");
  CHECK(good({"why", "Session", "-p", "4711"}).explain.what == "Session");
  CHECK(good({"watch", "--heap", "gc", "4711"}).pid == 4711);  // "gc" is not a source
  CHECK(has(wrong({"why", "--heap", "gc", "4711"}), "why needs "));
  CHECK(good({"./count"}).file == "./count");
  CHECK(good({"--strings", "count"}).file == "count");  // "count" is a file: there is a report
}

TEST_CASE("sizes have units if that is requested") {
  CHECK_FALSE(good({"count", "4711"}).human.has_value());
  CHECK(good({"count", "--human", "4711"}).human == true);
  CHECK(good({"count", "--human=no", "4711"}).human == false);
}

TEST_CASE("standard input is a source") {
  CHECK(good({"count", "-"}).file == "/dev/stdin");
}

TEST_CASE("a missing argument of a subcommand is named, with its usage") {
  CHECK(has(wrong({"why", "4711"}), "heapattach why TYPE|ADDRESS SOURCE"));
  CHECK(has(wrong({"count"}), "heapattach count SOURCE"));
}

TEST_CASE("a mistyped word is answered with the correct one") {
  CHECK(has(wrong({"--suspect", "1"}), "--suspect; did you mean --suspects?"));
  CHECK(has(wrong({"--max-puase", "5", "1"}), "did you mean --max-pause?"));
  CHECK(has(wrong({"cuont", "4711"}), "did you mean count?"));
  CHECK(has(wrong({"hlep", "4711"}), "did you mean help?"));
  CHECK(has(wrong({"4711", "count"}), "the report comes first; try: heapattach count SOURCE"));
  CHECK(has(wrong({"count", "-f", "jsn", "1"}), "did you mean json?"));
  CHECK(has(wrong({"--snapshot", "freze", "1"}), "did you mean freeze?"));
  CHECK(has(wrong({"help", "cout"}), "did you mean count?"));
  CHECK_FALSE(has(wrong({"--xyzzy", "1"}), "did you mean"));
}

TEST_CASE("an option error is one plain sentence") {
  CHECK(wrong({"--top"}) == "--top needs a value; try: --top=N");
  CHECK(wrong({"count", "1", "--top", "--all"}) == "--top needs a value; try: --top=N");
  CHECK(wrong({"--why"}) == "--why needs a value; try: --why=TYPE|ADDRESS");
  CHECK(wrong({"--force=yes", "1"}) == "--force takes no value");
  CHECK(wrong({"-x", "1"}) == "there is no option -x");
  CHECK(wrong({"-f", "json", "-f", "csv", "--count", "1"}) == "-f was given twice");
  CHECK(wrong({"--rounds", "3", "--count", "1"}) == "--rounds is for --watch, not for --count");
  CHECK(wrong({"--max-pause", "5", "heap.jsonl"}) == "--max-pause needs a live process");
  CHECK(wrong({"-qV1", "1"}) ==
        "-V cannot be combined with other options; try: heapattach --version");
  CHECK(wrong({"--stacks", "--snapshot", "clone", "1"}) == "--snapshot is not for --stacks");
}

TEST_CASE("a usage error names the help of its report, unless it says what to do") {
  const auto help = [](std::initializer_list<const char*> arguments) {
    return std::get<UsageError>(parse_options({arguments.begin(), arguments.size()})).help;
  };
  CHECK(help({"stacks", "--top", "3", "1"}) == "heapattach help stacks");
  CHECK(help({"1", "--sizes=x"}) == "heapattach help retained");
  CHECK(help({"count", "--xyzzy", "1"}) == "heapattach help count");
  CHECK(help({"-q", "-v", "1"}) == "heapattach --help");
  CHECK(help({"--xyzzy", "1"}) == "heapattach --help");
  CHECK(help({"count", "--topp", "1"}).empty());  // the error itself proposes --top
  CHECK(help({"count"}).empty());
  CHECK(help({"why", "4711"}).empty());
  CHECK(help({"4711", "count"}).empty());
}

TEST_CASE("short options can be joined to each other and to a value") {
  const Options options = good({"-qzo", "x.json", "count", "-p4711"});
  CHECK(options.quiet);
  CHECK(options.with_gzip);
  CHECK(options.output == "x.json");
  CHECK(options.pid == 4711);
  CHECK(good({"count", "1", "-fjson"}).format->name == "json");
  CHECK(good({"count", "--", "-file"}).file == "-file");
}

TEST_CASE("help about a report fits half a screen and has two examples that work") {
  for (const ReportRow& row : report_rows()) {
    if (row.name.empty()) continue;
    CAPTURE(row.name);
    const std::string text = shown({"help", row.name.data()});
    CHECK(shown({row.name.data(), "--help"}) == text);
    const auto lines = std::count(text.begin(), text.end(), '\n');
    CHECK(lines >= 8);
    CHECK(lines <= 16);
    std::size_t examples = 0;
    for (std::size_t at = text.find("\n  heapattach "); at != std::string::npos;
         at = text.find("\n  heapattach ", at + 1)) {
      ++examples;
      std::vector<std::string> words(1);
      bool is_quoted = false;
      for (const char letter : text.substr(at + 14, text.find('\n', at + 1) - at - 14)) {
        if (letter == '\'') {
          is_quoted = !is_quoted;
        } else if (letter == ' ' && !is_quoted) {
          words.emplace_back();
        } else {
          words.back() += letter;
        }
      }
      std::vector<const char*> arguments;
      for (const std::string& word : words) arguments.push_back(word.c_str());
      CHECK(good(arguments).report ==
            (has(words.size() > 1 ? words[1] : "", "0x") && row.report == Report::Sizes
                 ? Report::ObjectSizes
                 : row.report));
    }
    CHECK(examples == 2);
  }
}

TEST_CASE("the help, the man page and the completions list all options and reports") {
  const std::string all = shown({"--help", "all"});
  const std::string man = shown({"help", "man"});
  for (const OptionRow& row : option_rows()) {
    CAPTURE(row.name);
    const std::string option = "--" + std::string(row.name);
    CHECK(has(all, option));
    std::string escaped;
    for (const char letter : option) escaped += letter == '-' ? "\\-" : std::string(1, letter);
    CHECK(has(man, escaped));
    CHECK(has(shown({"help", "bash"}), option));
    CHECK(has(shown({"help", "zsh"}), option));
    CHECK(has(shown({"help", "fish"}), "-l " + std::string(row.name)));
  }
  for (const ReportRow& row : report_rows()) {
    CHECK(has(all, row.name));
    CHECK(has(shown({"help", "bash"}), row.name));
  }
  std::string statuses;
  for (const char letter : all.substr(all.find("Exit status"))) {
    const bool is_space = letter == ' ' || letter == '\n';
    if (!is_space || !statuses.ends_with(' ')) statuses += is_space ? ' ' : letter;
  }
  for (const StatusText& row : kStatusTexts) CHECK(has(statuses, row.brief));
  CHECK(kStatusTexts.size() == 14);
}

TEST_CASE("the version also has a short option") {
  CHECK(shown({"-V"}).starts_with("heapattach "));
  CHECK(shown({"-V"}) == shown({"--version"}));
}

}  // namespace heapattach
