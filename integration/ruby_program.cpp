#include "integration/ruby_program.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <unistd.h>

#include "integration/rounds.h"

namespace heapattach {

using namespace std::chrono_literals;

bool is_ruby_missing() {
  if (::access(kRuby, X_OK) == 0) return false;
  print_skip("ruby is not installed");
  return true;
}

Release installed_ruby() {
  return release_of("Ruby", {kRuby, "-v"}, {"3.1.2", "3.1.7", "3.3.8", "3.3.14"});
}

bool is_refused_outside(pid_t pid, bool with_references) {
  const Release release = installed_ruby();
  if (release.is_tried) return false;
  return is_refused(release, run_tool({with_references ? "--suspects" : "--count", "--snapshot",
                                       "freeze", fmt::format("{}", pid)}));
}

std::string ruby_script(const std::string& name) {
  const std::string here = __FILE__;
  return here.substr(0, here.rfind('/')) + "/targets/" + name;
}

RubyProgram::RubyProgram(const std::string& name, const std::string& argument)
    : child_({kRuby, ruby_script(name), argument}, {.capture_stderr = false}) {
  const auto line = child_.read_line(60s);
  REQUIRE(line);
  REQUIRE(line->starts_with("ready "));
  std::size_t at = 6;
  while (at < line->size()) {
    const std::size_t end = std::min(line->find(' ', at), line->size());
    const std::size_t sign = line->rfind('=', end);
    counts_[line->substr(at, sign - at)] = std::stoll(line->substr(sign + 1, end - sign - 1));
    at = end + 1;
  }
}

std::int64_t RubyProgram::rounds_done() {
  child_.send_line("");
  const auto line = child_.read_line(60s);
  REQUIRE(line);
  return std::stoll(line->substr(line->find('=') + 1));
}

std::map<std::string, RubyCount> rows_of(const ToolRun& run, int status) {
  REQUIRE_MESSAGE(run.status == status, run.errors);
  simdjson::dom::parser parser;
  const simdjson::dom::object report = parser.parse(run.output);
  std::map<std::string, RubyCount> rows;
  for (const simdjson::dom::object row : simdjson::dom::array(report["types"])) {
    rows[std::string(std::string_view(row["type"]))] = {row["objects"], row["bytes"]};
  }
  return rows;
}

ToolRun count_run(const std::string& source, std::vector<std::string> more) {
  more.insert(more.end(), {"--count", "-f", "json", source});
  return run_tool(more);
}

std::map<std::string, RubyCount> rows_of(const std::string& source) {
  return rows_of(count_run(source), 0);
}

std::int64_t count_in(const std::map<std::string, RubyCount>& rows, const std::string& type) {
  if (type != "unnamed") return rows.contains(type) ? rows.at(type).objects : 0;
  std::int64_t most = 0;
  for (const auto& [name, row] : rows) {
    if (name.starts_with("#<Class:")) most = std::max(most, row.objects);
  }
  return most;
}

}  // namespace heapattach
