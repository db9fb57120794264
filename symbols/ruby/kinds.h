#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "symbols/ruby/values.h"

namespace heapattach::ruby {

class HeapCopy;

// The word for a kind of object in a dump by ObjectSpace: "STRING".
[[nodiscard]] std::string_view dump_word(Kind kind);

// The word for a kind of internal object in a dump: "iseq". The kinds are others since 4.0, when
// objects `have_fields` (ValueForm).
[[nodiscard]] std::string_view internal_word(const Slot& slot, bool have_fields);

// "String" for "STRING": the class of most objects of a kind.
[[nodiscard]] std::string kind_in_words(std::string_view kind);

// Whether objects of this kind have no class that a program can see. `word` is dump_word().
[[nodiscard]] bool is_of_the_machine(std::string_view word);

// "imemo(iseq)" for the kind "IMEMO iseq", which is_of_the_machine().
[[nodiscard]] std::string machine_words(std::string_view kind);

// The name of an object's type, as in a snapshot of a dump: "Blog::Session", "imemo(iseq)".
[[nodiscard]] std::string type_name(const HeapCopy& heap, const Slot& slot);

}  // namespace heapattach::ruby
