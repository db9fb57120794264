#include "symbols/types/model_bytes.h"

#include <doctest/doctest.h>

namespace heapattach::types {

namespace {

Variable global(const std::string& name, TypeRef type, std::uint64_t address) {
  Variable variable;
  variable.name = name;
  variable.type = type;
  variable.address = RemoteAddr{address};
  return variable;
}

TypeModel small_model() {
  TypeModel model;
  const TypeRef number = model.intern("int");
  model[number].shape = Shape::Number;
  model[number].encoding = Encoding::Signed;
  model[number].bytes = 4;
  const TypeRef node = model.intern("struct node");
  const TypeRef pointer = model.intern("struct node *");
  model[pointer].shape = Shape::Pointer;
  model[pointer].bytes = 8;
  model[pointer].target = node;
  model[node].shape = Shape::Struct;
  model[node].bytes = 16;
  model[node].has_header = true;
  model[node].members = {{"next", 0, pointer}, {"n", 8, number, false, 3, 5}};
  const TypeRef color = model.intern("enum color");
  model[color].enumerators = {{"RED", -1}};
  const TypeRef array = model.intern("int[3]");
  model[array].count = 3;
  model.globals.push_back(global("first", node, 0x1234));
  model.notes = {"one unit"};
  model.disagreements = {"struct x"};
  return model;
}

}  // namespace

TEST_CASE("a model survives the round trip through bytes") {
  const TypeModel model = small_model();
  const auto bytes = to_bytes(model);
  const auto read = model_from_bytes(bytes);
  REQUIRE(read);
  CHECK(to_bytes(*read) == bytes);
  CHECK(read->types().size() == model.types().size());
  const Type& node = (*read)[read->find("struct node")];
  CHECK(node.has_header);
  CHECK(node.members[1].bit_count == 3);
  CHECK(read->globals[0].address.value == 0x1234);
  CHECK(read->notes == model.notes);
}

TEST_CASE("no prefix of a model's bytes is a model") {
  const auto bytes = to_bytes(small_model());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(model_from_bytes(std::span(bytes).first(size)));
  }
}

TEST_CASE("wrong bytes in a model do no harm") {
  const auto bytes = to_bytes(small_model());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int wrong : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      auto changed = bytes;
      changed[at] = std::byte(wrong);
      (void)model_from_bytes(changed);
    }
  }
}

}  // namespace heapattach::types
