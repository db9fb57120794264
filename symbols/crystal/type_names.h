#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heapattach::crystal {

// A type's name as a user writes it. The compiler marks "this or a subclass" with a plus sign in
// some of its outputs and not in others: Array(Shape+) and Array(Shape) are the same type.
[[nodiscard]] std::string canonical_name(std::string_view name);

// The type of a reference to an instance, "Acme::Session *", as written throughout this program.
[[nodiscard]] std::string reference_to(std::string_view class_name);

// The return type of a function, from its symbol: "Session" for "*Session::new<String,
// Int32>:Session" and "Circle" for "*Circle@Shape::new:Circle". Empty if the symbol is not
// Crystal's, or does not name exactly one class: unions, virtual types ("Shape+"), pointers and
// other values that are not instances.
[[nodiscard]] std::string_view class_returned_by(std::string_view symbol);

// The class of a method, from a symbol that was cut at "@": lld and mold cut all symbols, bfd those
// in .dynsym. "Channel(Job)" for the rest of "*Channel(Job)@Channel(T)::new:Channel(Job)". Empty
// for a symbol that was not cut.
[[nodiscard]] std::string_view class_of_cut(std::string_view symbol);

// The types of a union other than Nil: "A" and "B(C | D)" of "(A | B(C | D) | Nil)". For a type
// that is not a union, the name itself.
[[nodiscard]] std::vector<std::string_view> union_parts(std::string_view name);

// Splits a list at the separators outside all brackets.
[[nodiscard]] std::vector<std::string_view> split_list(std::string_view list,
                                                       std::string_view separator);

}  // namespace heapattach::crystal
