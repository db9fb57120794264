#include "integration/typed_truth.h"

#include <algorithm>
#include <stdexcept>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>

#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

constexpr std::size_t kShownLines = 40;

std::uint64_t address_in(std::string_view text) {
  return std::stoull(std::string(text), nullptr, 16);
}

// Splits "a<TAB>b<TAB>c<TAB>d".
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::size_t at = 0;
  for (;;) {
    const std::size_t tab = line.find('\t', at);
    fields.push_back(line.substr(at, tab - at));
    if (tab == std::string::npos) return fields;
    at = tab + 1;
  }
}

class Lines {
 public:
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    if (++count_ <= kShownLines) text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  [[nodiscard]] std::string text() const {
    if (count_ <= kShownLines) return text_;
    return text_ + fmt::format("and {} more\n", count_ - kShownLines);
  }

 private:
  std::string text_;
  std::size_t count_ = 0;
};

void compare_edges(std::uint64_t address,
                   const DescribedObject& expected,
                   const DescribedObject& found,
                   Lines& lines) {
  for (const auto& [path, to] : expected.edges) {
    const auto edge = found.edges.find(path);
    if (edge == found.edges.end()) {
      lines.add("{:#x} {}: no edge {} to {:#x}", address, expected.type, path, to);
    } else if (edge->second != to) {
      lines.add("{:#x} {}: {} leads to {:#x}, not {:#x}", address, expected.type, path,
                edge->second, to);
    }
  }
  for (const auto& [path, to] : found.edges) {
    if (expected.edges.count(path) == 0) {
      lines.add("{:#x} {}: an edge {} to {:#x} too many", address, expected.type, path, to);
    }
  }
}

}  // namespace

std::vector<std::string> typed_programs_of(const std::string& language) {
  std::vector<const char*> variants = {"gcc5",          "gcc4",  "clang5", "clang4",
                                       "gcc5_stripped", "units", "split",  "clang_split",
                                       "split_units",   "moved", "lto",    "optimised"};
  if (is_long_run()) {
    variants.insert(variants.end(), {"units5", "split4", "split_units4", "clang_split5",
                                     "clang_units", "clang_optimised"});
  }
  std::vector<std::string> names;
  for (const char* variant : variants) {
    std::string name = fmt::format("typed_{}_{}", language, variant);
    if (is_target_built(name)) names.push_back(std::move(name));
  }
  CHECK_FALSE(names.empty());
  return names;
}

std::vector<std::string> ask_for_lines(LiveTarget& target, const std::string& question) {
  std::vector<std::string> lines;
  const auto count = target.ask(question).at("lines");
  for (std::int64_t i = 0; i < count; ++i) lines.push_back(target.read_line());
  return lines;
}

DescribedHeap truth_of(LiveTarget& target) {
  DescribedHeap heap;
  for (const std::string& line : ask_for_lines(target, "edges")) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() != 4) throw std::runtime_error("not an edge: " + line);
    DescribedObject& object = heap[address_in(fields[0])];
    object.type = fields[1];
    if (!fields[2].empty()) object.edges[fields[2]] = address_in(fields[3]);
  }
  REQUIRE_FALSE(heap.empty());
  return heap;
}

DescribedHeap snapshot_of(const LiveTarget& target, const std::vector<std::string>& options) {
  std::vector<std::string> arguments = options;
  arguments.push_back(fmt::format("{}", target.pid()));
  const ToolRun run = run_tool(arguments);
  INFO(run.errors);
  REQUIRE(run.status == 0);
  DescribedHeap heap;
  simdjson::dom::parser parser;
  std::size_t at = 0;
  while (at < run.output.size()) {
    const std::size_t end = std::min(run.output.find('\n', at), run.output.size());
    const simdjson::dom::object record = parser.parse(run.output.data() + at, end - at);
    at = end + 1;
    if (std::string_view(record["record"]) != "object") continue;
    DescribedObject& object = heap[address_in(std::string_view(record["address"]))];
    object.type = std::string_view(record["type"]);
    simdjson::dom::object refs;
    if (record["refs"].get(refs) != simdjson::SUCCESS) continue;
    for (const auto& [path, to] : refs) {
      object.edges[std::string(path)] = address_in(std::string_view(to));
    }
  }
  return heap;
}

std::string missing_edges(const DescribedHeap& truth, const DescribedHeap& found) {
  Lines lines;
  for (const auto& [address, expected] : truth) {
    const auto object = found.find(address);
    if (object == found.end()) {
      lines.add("{:#x} {}: not found", address, expected.type);
      continue;
    }
    const auto& edges = object->second.edges;
    for (const auto& [path, to] : expected.edges) {
      const std::uint64_t wanted = to;
      if (std::none_of(edges.begin(), edges.end(),
                       [&](const auto& edge) { return edge.second == wanted; })) {
        lines.add("{:#x} {}: no edge {} to {:#x}", address, expected.type, path, to);
      }
    }
  }
  return lines.text();
}

std::string difference(const DescribedHeap& truth, const DescribedHeap& found) {
  Lines lines;
  for (const auto& [address, expected] : truth) {
    const auto object = found.find(address);
    if (object == found.end()) {
      lines.add("{:#x} {}: not found", address, expected.type);
      continue;
    }
    if (object->second.type != expected.type) {
      lines.add("{:#x} {}: is called {}", address, expected.type, object->second.type);
    }
    compare_edges(address, expected, object->second, lines);
  }
  return lines.text();
}

}  // namespace heapattach
