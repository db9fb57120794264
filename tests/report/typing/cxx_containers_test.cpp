#include "report/typing/cxx_containers.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/type_model_builder.h"

namespace heapattach::snapshot {
namespace {

using Leads = ContainerWord::Leads;

TEST_CASE("a template's arguments are found by number, however deep they nest") {
  constexpr auto kName = "std::map<ns::Key<int, 2>, void (*)(int, int), std::less<int> >";
  CHECK(template_argument(kName, 0) == "ns::Key<int, 2>");
  CHECK(template_argument(kName, 1) == "void (*)(int, int)");
  CHECK(template_argument(kName, 2) == "std::less<int>");
  CHECK(template_argument(kName, 3).empty());
  CHECK(template_argument("int", 0).empty());
  CHECK(template_argument("broken<int", 0).empty());
}

TEST_CASE("a vector's first pointer points to its elements, the others add nothing") {
  const types::TypeModel model;
  constexpr auto kVector = "std::vector<int, std::allocator<int> >";
  CHECK(is_cxx_container(kVector));
  CHECK(follow(model, kVector, "_M_start")->leads == Leads::ToBuffer);
  CHECK(follow(model, kVector, "_M_finish")->leads == Leads::Nowhere);
  CHECK_FALSE(follow(model, kVector, "something").has_value());
  CHECK_FALSE(is_cxx_container("ns::vector<int>"));
}

TEST_CASE("a container is named without its allocator, and a hash table by its kind") {
  CHECK(container_name("std::vector<ns::A*, std::allocator<ns::A*> >") == "std::vector<ns::A*>");
  CHECK(container_name("std::__cxx11::basic_string<char, std::char_traits<char>, A<char> >") ==
        "std::string");
  CHECK(container_name("std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t> >") ==
        "std::basic_string<wchar_t>");
  const std::string_view rest =
      "A<int>, std::__detail::_Select1st, E, H, R, D, P, std::__detail::_Hashtable_traits<false, "
      "false, ";
  const auto table = [&](std::string_view value, std::string_view is_unique) {
    return container_name(fmt::format("std::_Hashtable<int, {}, {}{}> >", value, rest, is_unique));
  };
  CHECK(table("std::pair<int const, ns::A*>", "true") == "std::unordered_map<int, ns::A*>");
  CHECK(table("std::pair<int const, ns::A*>", "false") == "std::unordered_multimap<int, ns::A*>");
  CHECK(table("int", "true") == "std::unordered_set<int>");
  CHECK(container_name("ns::Plain") == "ns::Plain");
}

TEST_CASE("control blocks are named after what they control") {
  CHECK(control_block_name("std::_Sp_counted_ptr_inplace<ns::Item<int, 2>, std::allocator<void>, "
                           "(__gnu_cxx::_Lock_policy)2>") ==
        "(std::make_shared<ns::Item<int, 2>>)");
  CHECK(control_block_name("std::_Sp_counted_ptr<ns::Item*, (__gnu_cxx::_Lock_policy)2>") ==
        "(control block of std::shared_ptr<ns::Item>)");
  CHECK(control_block_name("std::_Sp_counted_deleter<Item*, void (*)(Item*), std::allocator<void>, "
                           "(__gnu_cxx::_Lock_policy)2>") ==
        "(control block of std::shared_ptr<Item>)");
  CHECK(control_block_name("std::__1::__shared_ptr_emplace<Item, std::__1::allocator<Item> >") ==
        "(std::make_shared<Item>)");
  CHECK(control_block_name("Item").empty());
}

TEST_CASE("pointers to the base of a node point to the container's own nodes") {
  ModelBuilder build;
  const auto tree = build.structure("std::_Rb_tree_node<std::pair<int const, ns::A> >", 48);
  const auto hash = build.structure("std::__detail::_Hash_node<int, false>", 16);
  const auto left =
      follow(build.model, "std::_Rb_tree<int, std::pair<int const, ns::A>, std::_Select1st<int>>",
             "_M_left");
  REQUIRE(left);
  CHECK(left->leads == Leads::ToNode);
  CHECK(left->node == tree);
  const auto next =
      follow(build.model, "std::_Hashtable<int, int, std::allocator<int> >", "_M_nxt");
  REQUIRE(next);
  CHECK(next->node == hash);
  CHECK(follow(build.model, "std::__cxx11::list<ns::A>", "_M_next")->leads == Leads::Nowhere);
}

TEST_CASE("libc++'s containers lead to their nodes and buffers") {
  ModelBuilder build;
  const auto node = build.structure("std::__1::__tree_node<ns::A, void*>", 48);
  const auto pair = build.structure(
      "std::__1::__hash_node<std::__1::__hash_value_type<int, ns::B<int> >, void*>", 32);
  const auto left =
      follow(build.model, "std::__1::__tree<ns::A, std::__1::less<ns::A> >", "__left_");
  REQUIRE(left);
  CHECK(left->node == node);
  constexpr auto kMap = "std::__1::unordered_map<int, ns::B<int>, std::__1::hash<int> >";
  const auto next = follow(build.model, kMap, "__next_");
  REQUIRE(next);
  CHECK(next->node == pair);
  CHECK(follow(build.model, kMap, "__value_")->leads == Leads::ToBuffer);
  CHECK(follow(build.model, "std::__1::vector<int>", "__end_")->leads == Leads::Nowhere);
  CHECK(follow(build.model, "std::__1::list<ns::A>", "__next_")->leads == Leads::Nowhere);
  CHECK(is_node_base("std::__1::__tree_end_node<std::__1::__tree_node_base<void*>*>"));
  CHECK(container_name(kMap) == "std::unordered_map<int, ns::B<int>>");
  CHECK(container_name("std::__1::basic_string<char, std::__1::char_traits<char> >") ==
        "std::string");
}

TEST_CASE("raw storage for a pointer is found by the pointer's type name") {
  ModelBuilder build;
  const auto item = build.pointer(build.structure("ns::Item", 8));
  CHECK(value_in_storage(build.model, "__gnu_cxx::__aligned_membuf<ns::Item*>") == item);
  CHECK(value_in_storage(build.model, "__gnu_cxx::__aligned_membuf<ns::Gone*>") == types::kNoType);
  CHECK_FALSE(value_in_storage(build.model, "ns::Item").has_value());
}

}  // namespace
}  // namespace heapattach::snapshot
