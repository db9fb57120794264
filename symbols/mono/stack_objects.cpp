#include "symbols/mono/stack_objects.h"

#include <unordered_set>

#include "attach/arch/addresses.h"
#include "symbols/mono/threads.h"

namespace heapattach::mono {

StackObjects::StackObjects(ClassReader& classes,
                           const ReadWord& read,
                           std::span<const std::uint64_t> words)
    : read_(read) {
  std::unordered_set<std::uint64_t> seen;
  for (const std::uint64_t word : words) {
    if (word == 0 || word % 8 != 0 || word >= kUsualAddressEnd || !seen.insert(word).second) {
      continue;
    }
    const Class* const of = classes.of_first_word(read(word).value_or(0));
    if (of != nullptr && !of->is_array) objects_.push_back({word, of});
  }
}

template <class Fits>
std::optional<StackObjects::Field> StackObjects::find(const Fits& fits) const {
  for (const Object& object : objects_) {
    for (const mono::Field& field : object.of->fields) {
      if (field.bytes != 8 || field.offset % 8 != 0) continue;
      if (!fits(field, read_(object.at + field.offset).value_or(0))) continue;
      return Field{object.at, object.of->name, field.name};
    }
  }
  return std::nullopt;
}

std::optional<StackObjects::Field> StackObjects::reference_to(std::uint64_t object) const {
  return find([object](const mono::Field& field, std::uint64_t value) {
    return field.is_reference && value == object;
  });
}

std::optional<StackObjects::Field> StackObjects::awaited_handle(RemoteAddr futex) const {
  return find([futex](const mono::Field& field, std::uint64_t value) {
    return field.name == "waitHandle" && is_event(value, futex);
  });
}

}  // namespace heapattach::mono
