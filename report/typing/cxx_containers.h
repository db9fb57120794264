#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "symbols/types/type_model.h"

// Knowledge about the containers of libstdc++ and libc++ that their types do not express: a
// vector's first pointer points to its elements and the other two to ends, a pointer to a node's
// base points to a node, and an array of bytes is storage for a value. Names and members are those
// of g++ 5 to 14 and of LLVM 14.
namespace heapattach::snapshot {

// How to follow a pointer member of a container.
struct ContainerWord {
  enum class Leads : std::uint8_t {
    Nowhere,   // the word points to the end of something, or back into the container
    ToBuffer,  // it points to elements of its type, which belong to the container
    ToNode,    // it points to a `node`
  };
  Leads leads = Leads::Nowhere;
  types::TypeRef node = types::kNoType;
};

// Whether a structure of this name is a container that follow() knows.
[[nodiscard]] bool is_cxx_container(std::string_view type_name);

// The member at the end of a path: "_M_start" of "items._M_impl._M_start".
[[nodiscard]] std::string_view last_member(std::string_view path);

// How to follow the member `member` anywhere inside a container; nothing if its type is sufficient.
[[nodiscard]] std::optional<ContainerWord> follow(const types::TypeModel& model,
                                                  std::string_view container,
                                                  std::string_view member);

// Whether a structure of this name is the base of all nodes, so that a pointer to it proves
// nothing.
[[nodiscard]] bool is_node_base(std::string_view type_name);

// The name for a container's buffers: the container's name without its allocator and other default
// arguments, "std::vector<int>", "std::string", "std::unordered_map<int, char*>".
[[nodiscard]] std::string container_name(std::string_view type_name);

// The name to show for the class of a std::shared_ptr's control block: "(control block of
// std::shared_ptr<Item>)", or "(std::make_shared<Item>)" if it contains the Item, too. Empty for
// any other class.
[[nodiscard]] std::string control_block_name(std::string_view type_name);

// If a structure of this name is raw storage for a value, the type of the value, or kNoType if that
// cannot be found. Nothing for any other structure.
[[nodiscard]] std::optional<types::TypeRef> value_in_storage(const types::TypeModel& model,
                                                             std::string_view type_name);

// The argument of a template's name: argument 0 of "std::vector<int, A<int> >" is "int". Empty if
// there is none.
[[nodiscard]] std::string_view template_argument(std::string_view name, std::size_t index);

}  // namespace heapattach::snapshot
