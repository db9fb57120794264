// A Crystal program lists its objects and edges, as its compiler has laid them out, and the
// snapshot must have the same ones.

#include <fstream>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/rounds.h"
#include "integration/typed_truth.h"

namespace heapattach {
namespace {

bool is_built(const std::string& name) {
  if (::access(target_path(name).c_str(), X_OK) == 0) return true;
  print_skip("there was no Crystal compiler to build the program");
  return false;
}

// The untyped objects that the program's own objects reference, and what references them, one line
// each.
std::string unknown_below_own(const DescribedHeap& found) {
  std::vector<std::uint64_t> stack;
  std::set<std::uint64_t> seen;
  for (const auto& [address, object] : found) {
    if (object.type.rfind("Acme::", 0) == 0 || object.type == "Store") stack.push_back(address);
  }
  std::string text;
  while (!stack.empty()) {
    const std::uint64_t at = stack.back();
    stack.pop_back();
    if (!seen.insert(at).second) continue;
    const DescribedObject& object = found.at(at);
    for (const auto& [path, to] : object.edges) {
      const std::string& type = found.at(to).type;
      const bool is_unknown = type.rfind("(unknown", 0) == 0 || type.rfind("(type", 0) == 0;
      if (is_unknown) text += fmt::format("{} of {}\n", path, object.type);
      stack.push_back(to);
    }
  }
  return text;
}

// The edges from buffers of numbers that happen to be addresses of objects; there must be none.
std::string edges_of_numbers(const DescribedHeap& found) {
  const std::set<std::string> numbers = {"(buffer of Array(Int32))", "(buffer of Array(UInt64))",
                                         "(buffer of Hash(Int32, Int32))",
                                         "(buffer of Slice(UInt8))", "(buffer of Slice(UInt64))"};
  std::set<std::string> seen;
  std::string text;
  for (const auto& [address, object] : found) {
    if (numbers.count(object.type) == 0) continue;
    seen.insert(object.type);
    if (!object.edges.empty()) text += fmt::format("{:#x} {}\n", address, object.type);
  }
  for (const std::string& type : numbers) {
    if (seen.count(type) == 0) text += "no " + type + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("each edge of a Crystal program is found") {
  for (const char* name : {"typed_service_default", "typed_service_debug"}) {
    if (!is_built(name)) return;
    CAPTURE(name);
    LiveTarget target(name);
    CHECK(missing_edges(truth_of(target), snapshot_of(target)) == "");
    CHECK(harm_done_to(target.pid()) == "");
  }
}

TEST_CASE("each object and edge of a Crystal program has the program's own name for it") {
  const char* const name = "typed_service_debug";
  if (!is_built(name)) return;
  LiveTarget target(name);
  const DescribedHeap found = snapshot_of(target);
  CHECK(difference(truth_of(target), found) == "");
  CHECK(unknown_below_own(found) == "");
  CHECK(edges_of_numbers(found) == "");
  CHECK(harm_done_to(target.pid()) == "");
}

// The program prints its type information itself, in the form in which a newer compiler writes it.
TEST_CASE("the same with the compiler's type information, without debug information") {
  const char* const name = "typed_service_default";
  if (!is_built(name)) return;
  LiveTarget target(name);
  const std::string file = fmt::format("{}.json", target_path(name));
  std::ofstream(file) << ask_for_lines(target, "type-info").at(0);
  const DescribedHeap found = snapshot_of(target, {"--type-info", file});
  CHECK(difference(truth_of(target), found) == "");
  CHECK(unknown_below_own(found) == "");
  CHECK(edges_of_numbers(found) == "");
}

}  // namespace heapattach
