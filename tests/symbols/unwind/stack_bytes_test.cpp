#include "symbols/unwind/stack_bytes.h"

#include <doctest/doctest.h>

#include "symbols/unwind/local_types.h"

namespace heapattach::unwind {

namespace {

Result<FoundStack> take_stack(std::span<const std::byte>& bytes) {
  auto part = take_part(bytes);
  if (!part) return std::move(part).error();
  REQUIRE(std::holds_alternative<FoundStack>(*part));
  return std::get<FoundStack>(std::move(*part));
}

CodePlaces example_places() {
  CodePlaces found;
  found.pc = {0x4711};
  found.places.push_back({"Cart#add", "lib/list.cr", 12, 5, true, "src/cart.cr", "Shop#run"});
  found.places.push_back({"main", "", 0, 0, false});
  return found;
}

FoundStack example() {
  FoundStack found;
  found.stack.thread = 7;
  found.stack.fiber = 0x1234;
  found.stack.end = StackEnd::Limit;
  found.stack.frames = {{{0x10}, {0x20}, {0x30}, FoundBy::Registers},
                        {{0x11}, {0x30}, {0}, FoundBy::Scan}};
  found.locals = {{{"session", "struct session *", false, 0x28}, 1}, {{"", "int", true, 5, 2}, 0}};
  return found;
}

}  // namespace

TEST_CASE("a stack survives the round trip through bytes") {
  std::vector<std::byte> bytes = to_bytes(example());
  const auto again = to_bytes(example());
  bytes.insert(bytes.end(), again.begin(), again.end());
  std::span<const std::byte> rest = bytes;
  for (int i = 0; i < 2; ++i) {
    const auto found = take_stack(rest);
    REQUIRE(found);
    CHECK(found->stack.thread == 7);
    CHECK(found->stack.fiber == 0x1234);
    CHECK(found->stack.end == StackEnd::Limit);
    REQUIRE(found->stack.frames.size() == 2);
    CHECK(found->stack.frames[1].found_by == FoundBy::Scan);
    CHECK(found->stack.frames[1].stack_pointer == RemoteAddr{0x30});
    REQUIRE(found->locals.size() == 2);
    CHECK(found->locals[0].frame == 1);
    CHECK(found->locals[0].local.type == "struct session *");
    CHECK(found->locals[1].local.is_value);
    CHECK(found->locals[1].local.inlined == 2);
  }
  CHECK(rest.empty());
}

TEST_CASE("a stack that is cut anywhere is an error") {
  const std::vector<std::byte> bytes = to_bytes(example());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::span<const std::byte> rest = std::span(bytes).first(size);
    CHECK_FALSE(take_stack(rest));
  }
}

TEST_CASE("code places survive the round trip, and cut-off ones are refused") {
  const std::vector<std::byte> bytes = to_bytes(example_places());
  std::span<const std::byte> rest = bytes;
  const auto part = take_part(rest);
  REQUIRE(part);
  CHECK(rest.empty());
  CHECK(std::get<CodePlaces>(*part).pc == RemoteAddr{0x4711});
  CHECK(std::get<CodePlaces>(*part).places == example_places().places);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    rest = std::span(bytes).first(size);
    CHECK_FALSE(take_part(rest));
  }
}

TEST_CASE("any byte of a stack may be changed without harm") {
  const std::vector<std::byte> bytes = to_bytes(example());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::vector<std::byte> changed = bytes;
    changed[at] = std::byte{0xff};
    std::span<const std::byte> rest = changed;
    const auto part = take_part(rest);
    if (!part) continue;
    const auto* const found = std::get_if<FoundStack>(&*part);
    if (found == nullptr) continue;
    for (const FoundLocal& local : found->locals) CHECK(local.frame < found->stack.frames.size());
  }
}

TEST_CASE("pointers and arrays that only variables have are added to the model") {
  types::TypeModel model;
  const types::TypeRef node = model.intern("struct node");
  model[node].shape = types::Shape::Struct;
  model[node].bytes = 24;
  CHECK(type_of_local("struct node", model) == node);

  const types::TypeRef pointer = type_of_local("struct node *", model);
  REQUIRE(pointer != types::kNoType);
  CHECK(model[pointer].shape == types::Shape::Pointer);
  CHECK(model[pointer].target == node);
  CHECK(type_of_local("struct node *", model) == pointer);
  const types::TypeRef array = type_of_local("struct node *[4][2]", model);
  REQUIRE(array != types::kNoType);
  CHECK(model[array].shape == types::Shape::Array);
  CHECK(model[array].count == 4);
  CHECK(model[array].bytes == 64);
  CHECK(model[model[array].target].name == "struct node *[2]");
  CHECK(model[model[array].target].target == pointer);
  CHECK(model[type_of_local("struct node **", model)].target == pointer);
}

TEST_CASE("a variable's type that the model does not know adds nothing") {
  types::TypeModel model;
  model.intern("struct node");
  const std::size_t size = model.types().size();
  for (const char* name :
       {"", "*", "struct other *", "int (*)(struct node *)", "struct node[0]", "struct node[4]",
        "]", "[]", "struct other[3]", "struct node *[]", "struct node *[99999999999]"}) {
    CAPTURE(name);
    CHECK(type_of_local(name, model) == types::kNoType);
  }
  CHECK(model.types().size() <= size + 1);
}

}  // namespace heapattach::unwind
