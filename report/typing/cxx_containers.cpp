#include "report/typing/cxx_containers.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

namespace heapattach::snapshot {

namespace {

using Leads = ContainerWord::Leads;

// A member of a container. Its node is an instance of a template with the container's argument
// `argument`, or with the container's first two arguments.
struct Row {
  std::string_view container;  // the beginning of the container's name
  std::string_view member;
  Leads leads;
  std::string_view node = {};  // "std::_List_node"
  std::size_t argument = 0;
  std::string_view more = {};  // further names that the node's template may have
};
constexpr std::size_t kFirstTwo = 100;

constexpr std::string_view kList = "std::_List_node";
constexpr std::string_view kTree = "std::_Rb_tree_node";
constexpr std::string_view kHash = "std::__detail::_Hash_node";

// Names of libc++.
constexpr std::string_view kLlvmList = "std::__1::__list_node";
constexpr std::string_view kLlvmTree = "std::__1::__tree_node";
constexpr std::string_view kLlvmHash = "std::__1::__hash_node";
constexpr std::string_view kLlvmPairs = "std::__1::__hash_node<std::__1::__hash_value_type";
constexpr std::string_view kVoid = ", void*";
constexpr std::string_view kPairsVoid = ">, void*";
constexpr std::string_view kPairsVoidApart = " >, void*";

// The rows have the names of inner structures: a map, for example, is a structure around an
// _Rb_tree, which has the pointers. Rows of libstdc++ come first.
constexpr std::array kRows = {
    Row{"std::vector<", "_M_start", Leads::ToBuffer},
    Row{"std::vector<", "_M_finish", Leads::Nowhere},
    Row{"std::vector<", "_M_end_of_storage", Leads::Nowhere},
    Row{"std::vector<", "_M_p", Leads::ToBuffer},  // vector<bool>
    Row{"std::__cxx11::basic_string<", "_M_p", Leads::ToBuffer},
    Row{"std::basic_string<", "_M_p", Leads::ToBuffer},
    Row{"std::__cxx11::list<", "_M_next", Leads::ToNode, kList},
    Row{"std::__cxx11::list<", "_M_prev", Leads::ToNode, kList},
    Row{"std::list<", "_M_next", Leads::ToNode, kList},
    Row{"std::list<", "_M_prev", Leads::ToNode, kList},
    Row{"std::_List_node<", "_M_next", Leads::ToNode, kList},
    Row{"std::_List_node<", "_M_prev", Leads::ToNode, kList},
    Row{"std::forward_list<", "_M_next", Leads::ToNode, "std::_Fwd_list_node"},
    Row{"std::_Fwd_list_node<", "_M_next", Leads::ToNode, "std::_Fwd_list_node"},
    Row{"std::_Rb_tree<", "_M_parent", Leads::ToNode, kTree, 1},
    Row{"std::_Rb_tree<", "_M_left", Leads::ToNode, kTree, 1},
    Row{"std::_Rb_tree<", "_M_right", Leads::ToNode, kTree, 1},
    Row{"std::_Rb_tree_node<", "_M_parent", Leads::ToNode, kTree},
    Row{"std::_Rb_tree_node<", "_M_left", Leads::ToNode, kTree},
    Row{"std::_Rb_tree_node<", "_M_right", Leads::ToNode, kTree},
    Row{"std::_Hashtable<", "_M_nxt", Leads::ToNode, kHash, 1, ", true"},
    Row{"std::_Hashtable<", "_M_nxt", Leads::ToNode, kHash, 1, ", false"},
    Row{"std::_Hashtable<", "_M_buckets", Leads::ToBuffer},
    Row{"std::__detail::_Hash_node<", "_M_nxt", Leads::ToNode, kHash, 0, ", true"},
    Row{"std::__detail::_Hash_node<", "_M_nxt", Leads::ToNode, kHash, 0, ", false"},
    Row{"std::deque<", "_M_map", Leads::ToBuffer},
    Row{"std::deque<", "_M_cur", Leads::Nowhere},
    Row{"std::deque<", "_M_first", Leads::Nowhere},
    Row{"std::deque<", "_M_last", Leads::Nowhere},
    Row{"std::deque<", "_M_node", Leads::Nowhere},
    // Rows of libc++. A __value_ is in a pair that takes no space for an empty class.
    Row{"std::__1::vector<", "__begin_", Leads::ToBuffer},
    Row{"std::__1::vector<", "__end_", Leads::Nowhere},
    Row{"std::__1::vector<", "__value_", Leads::Nowhere},
    Row{"std::__1::vector<", "__cap_", Leads::Nowhere},
    Row{"std::__1::basic_string<", "__data_", Leads::ToBuffer},
    Row{"std::__1::list<", "__next_", Leads::ToNode, kLlvmList, 0, kVoid},
    Row{"std::__1::list<", "__prev_", Leads::ToNode, kLlvmList, 0, kVoid},
    Row{"std::__1::__list_node<", "__next_", Leads::ToNode, kLlvmList, 0, kVoid},
    Row{"std::__1::__list_node<", "__prev_", Leads::ToNode, kLlvmList, 0, kVoid},
    Row{"std::__1::__tree<", "__begin_node_", Leads::ToNode, kLlvmTree, 0, kVoid},
    Row{"std::__1::__tree<", "__left_", Leads::ToNode, kLlvmTree, 0, kVoid},
    Row{"std::__1::__tree_node<", "__left_", Leads::ToNode, kLlvmTree, 0, kVoid},
    Row{"std::__1::__tree_node<", "__right_", Leads::ToNode, kLlvmTree, 0, kVoid},
    Row{"std::__1::__tree_node<", "__parent_", Leads::ToNode, kLlvmTree, 0, kVoid},
    Row{"std::__1::unordered_set<", "__next_", Leads::ToNode, kLlvmHash, 0, kVoid},
    Row{"std::__1::unordered_set<", "__value_", Leads::ToBuffer},
    Row{"std::__1::unordered_multiset<", "__next_", Leads::ToNode, kLlvmHash, 0, kVoid},
    Row{"std::__1::unordered_multiset<", "__value_", Leads::ToBuffer},
    Row{"std::__1::unordered_map<", "__next_", Leads::ToNode, kLlvmPairs, kFirstTwo, kPairsVoid},
    Row{"std::__1::unordered_map<", "__next_", Leads::ToNode, kLlvmPairs, kFirstTwo,
        kPairsVoidApart},
    Row{"std::__1::unordered_map<", "__value_", Leads::ToBuffer},
    Row{"std::__1::unordered_multimap<", "__next_", Leads::ToNode, kLlvmPairs, kFirstTwo,
        kPairsVoid},
    Row{"std::__1::unordered_multimap<", "__next_", Leads::ToNode, kLlvmPairs, kFirstTwo,
        kPairsVoidApart},
    Row{"std::__1::unordered_multimap<", "__value_", Leads::ToBuffer},
    Row{"std::__1::__hash_node<", "__next_", Leads::ToNode, kLlvmHash, 0, kVoid},
    Row{"std::__1::deque<", "__first_", Leads::ToBuffer},
    Row{"std::__1::deque<", "__begin_", Leads::Nowhere},
    Row{"std::__1::deque<", "__end_", Leads::Nowhere},
    Row{"std::__1::deque<", "__value_", Leads::Nowhere},
    Row{"std::__1::deque<", "__cap_", Leads::Nowhere},
};

constexpr std::array<std::string_view, 3> kInlineNamespaces = {
    "std::__cxx11::", "std::__debug::", "std::__1::"};

constexpr std::array<std::string_view, 2> kStorage = {"__gnu_cxx::__aligned_membuf<",
                                                      "__gnu_cxx::__aligned_buffer<"};

constexpr std::array<std::string_view, 4> kNodeBases = {
    "std::__detail::_List_node_base", "std::__detail::_Hash_node_base", "std::_Rb_tree_node_base",
    "std::_Fwd_list_node_base"};

constexpr std::array<std::string_view, 4> kNodeBaseTemplates = {
    "std::__1::__list_node_base<", "std::__1::__hash_node_base<", "std::__1::__tree_node_base<",
    "std::__1::__tree_end_node<"};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The end of the argument that begins at `start`: a comma or the closing bracket, or name.size() if
// there is none.
std::size_t end_of_argument(std::string_view name, std::size_t start) {
  int depth = 0;
  for (std::size_t at = start; at < name.size(); ++at) {
    const char letter = name[at];
    if (depth == 0 && (letter == ',' || letter == '>')) return at;
    if (letter == '<' || letter == '(') ++depth;
    if (letter == '>' || letter == ')') --depth;
  }
  return name.size();
}

// The first two arguments of a template: "K, V" of "map<K, V, std::less<K> >".
std::string_view first_two_arguments(std::string_view name) {
  const std::string_view first = template_argument(name, 0);
  const std::string_view second = template_argument(name, 1);
  if (first.empty() || second.empty()) return {};
  return {first.data(), static_cast<std::size_t>(second.data() + second.size() - first.data())};
}

// Finds a template's instance by name, with or without a blank before a closing bracket.
types::TypeRef find_instance(const types::TypeModel& model,
                             std::string_view name,
                             std::string_view argument,
                             std::string_view more) {
  for (const std::string_view close : {">", " >"}) {
    const auto found = model.find(fmt::format("{}<{}{}{}", name, argument, more, close));
    if (found != types::kNoType) return found;
  }
  return types::kNoType;
}

// The name of a hash table. The buckets of all four kinds belong to one class, whose arguments show
// which kind it is.
std::string hash_name(std::string_view type_name, std::string_view key) {
  constexpr std::size_t kTraits = 9;
  const std::string_view value = template_argument(type_name, 1);
  const std::string_view traits = template_argument(type_name, kTraits);
  const bool has_equals = template_argument(traits, 2) == "false";
  const std::string_view multi = has_equals ? "multi" : "";
  const bool is_map = value != key && value.starts_with("std::pair<");
  if (!is_map) return fmt::format("std::unordered_{}set<{}>", multi, key);
  return fmt::format("std::unordered_{}map<{}, {}>", multi, key, template_argument(value, 1));
}

}  // namespace

std::string_view template_argument(std::string_view name, std::size_t index) {
  const std::size_t open = name.find('<');
  if (open == std::string_view::npos) return {};
  std::size_t start = open + 1;
  for (; index > 0; --index) {
    start = end_of_argument(name, start);
    if (start >= name.size() || name[start] != ',') return {};
    ++start;
  }
  const std::size_t end = end_of_argument(name, start);
  return end == name.size() ? std::string_view() : trimmed(name.substr(start, end - start));
}

bool is_cxx_container(std::string_view type_name) {
  if (!type_name.starts_with("std::")) return false;
  return std::any_of(kRows.begin(), kRows.end(),
                     [&](const Row& row) { return type_name.starts_with(row.container); });
}

std::string_view last_member(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::optional<ContainerWord> follow(const types::TypeModel& model,
                                    std::string_view container,
                                    std::string_view member) {
  std::optional<ContainerWord> result;
  for (const Row& row : kRows) {
    if (row.member != member || !container.starts_with(row.container)) continue;
    if (row.node.empty()) return ContainerWord{row.leads};
    const std::string_view argument = row.argument == kFirstTwo
                                          ? first_two_arguments(container)
                                          : template_argument(container, row.argument);
    const auto node = find_instance(model, row.node, argument, row.more);
    if (node != types::kNoType) return ContainerWord{row.leads, node};
    result = ContainerWord{Leads::Nowhere};  // a node's base is too general
  }
  return result;
}

bool is_node_base(std::string_view type_name) {
  return std::find(kNodeBases.begin(), kNodeBases.end(), type_name) != kNodeBases.end() ||
         std::any_of(kNodeBaseTemplates.begin(), kNodeBaseTemplates.end(),
                     [&](std::string_view name) { return type_name.starts_with(name); });
}

std::string container_name(std::string_view type_name) {
  const std::string_view first = template_argument(type_name, 0);
  if (first.empty()) return std::string(type_name);
  if (type_name.starts_with("std::_Hashtable<")) return hash_name(type_name, first);
  std::string_view name = type_name.substr(0, type_name.find('<'));
  for (const std::string_view hidden : kInlineNamespaces) {
    if (name.starts_with(hidden)) name.remove_prefix(hidden.size());
  }
  if (name.starts_with("std::")) name.remove_prefix(5);
  if (name == "basic_string" && first == "char") return "std::string";
  if (name == "unordered_map" || name == "unordered_multimap") {
    return fmt::format("std::{}<{}>", name, first_two_arguments(type_name));
  }
  return fmt::format("std::{}<{}>", name, first);
}

std::string control_block_name(std::string_view type_name) {
  struct Form {
    std::string_view name;
    bool has_pointer;  // the argument is a pointer to the shared object
  };
  constexpr std::array kForms = {
      Form{"std::_Sp_counted_ptr_inplace<", false}, Form{"std::_Sp_counted_ptr<", true},
      Form{"std::_Sp_counted_deleter<", true}, Form{"std::__1::__shared_ptr_emplace<", false},
      Form{"std::__1::__shared_ptr_pointer<", true}};
  const auto* const form = std::find_if(kForms.begin(), kForms.end(), [&](const Form& one) {
    return type_name.starts_with(one.name);
  });
  if (form == kForms.end()) return {};
  std::string_view shared = template_argument(type_name, 0);
  if (!form->has_pointer) return fmt::format("(std::make_shared<{}>)", shared);
  if (shared.ends_with('*')) shared.remove_suffix(1);
  return fmt::format("(control block of std::shared_ptr<{}>)", trimmed(shared));
}

std::optional<types::TypeRef> value_in_storage(const types::TypeModel& model,
                                               std::string_view type_name) {
  const bool is_storage =
      std::any_of(kStorage.begin(), kStorage.end(),
                  [&](std::string_view prefix) { return type_name.starts_with(prefix); });
  if (!is_storage) return std::nullopt;
  const std::string_view value = template_argument(type_name, 0);
  const auto found = model.find(value);
  if (found != types::kNoType) return found;
  // The argument "ns::Item*" is the type "ns::Item *".
  const std::size_t star = value.find_last_not_of('*') + 1;
  return model.find(fmt::format("{} {}", value.substr(0, star), value.substr(star)));
}

}  // namespace heapattach::snapshot
