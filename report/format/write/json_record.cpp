#include "report/format/write/json_record.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "report/text/json_text.h"

namespace heapattach {

bool append_attributes(std::string& out, const Attributes& attributes) {
  bool is_lossy = false;
  out += '{';
  for (const Attribute& one : attributes) {
    if (&one != &attributes.front()) out += ',';
    is_lossy |= append_json_string(out, one.name);
    out += ':';
    is_lossy |= append_json_string(out, one.value);
  }
  out += '}';
  return is_lossy;
}

void JsonRecord::comma() {
  if (!members_.empty() && members_.back() != '[') members_ += ',';
}

void JsonRecord::key(std::string_view name) {
  comma();
  fmt::format_to(std::back_inserter(members_), "\"{}\":", name);
}

void JsonRecord::raw(std::string_view name, std::string_view json) {
  key(name);
  members_ += json;
}

void JsonRecord::text(std::string_view name, std::string_view value) {
  key(name);
  is_lossy_ |= append_json_string(members_, value);
}

void JsonRecord::text_unless_empty(std::string_view name, std::string_view value) {
  if (!value.empty()) text(name, value);
}

void JsonRecord::boolean(std::string_view name, std::optional<bool> value) {
  if (value) raw(name, *value ? "true" : "false");
}

void JsonRecord::address(std::string_view name, std::uint64_t value) {
  key(name);
  fmt::format_to(std::back_inserter(members_), "\"{:#x}\"", value);
}

void JsonRecord::object(std::string_view name, JsonRecord value) {
  key(name);
  members_ += std::move(value).braced();
}

void JsonRecord::attributes_unless_empty(std::string_view name, const Attributes& attributes) {
  if (attributes.empty()) return;
  key(name);
  is_lossy_ |= append_attributes(members_, attributes);
}

void JsonRecord::open_list(std::string_view name) {
  key(name);
  members_ += '[';
}

void JsonRecord::item(std::string_view text) {
  comma();
  is_lossy_ |= append_json_string(members_, text);
}

void JsonRecord::item(JsonRecord record) {
  comma();
  members_ += std::move(record).braced();
}

void JsonRecord::close_list() {
  members_ += ']';
}

std::string JsonRecord::braced() && {
  if (is_lossy_) raw("lossy", "true");
  return fmt::format("{{{}}}", members_);
}

std::string JsonRecord::line() && {
  return std::move(*this).braced() + '\n';
}

}  // namespace heapattach
