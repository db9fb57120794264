#include "report/redact/redact.h"

#include <algorithm>
#include <array>

#include "report/model/collector_variable.h"
#include "report/redact/library_names.h"
#include "symbols/malloc/library_objects.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;
using snapshot::Type;

// Whether the type itself is a library's. For a generic type or a buffer, its first name decides:
// "Hash" in "(buffer of Hash(A, B))".
bool is_of_library(const Type& type, const Placeholders& names) {
  std::string_view name = type.holder.empty() ? type.name : type.holder;
  name = name.substr(0, name.find_first_of("(<"));
  const bool has_own_elements = !type.holder.empty() && name != "Hash" && name != "Set";
  return !has_own_elements && is_library_type(name, names.language());
}

void redact_type(Type& type, const Placeholders& names) {
  if (glibc::is_library_object(type.name)) return;
  const bool keeps_fields = is_of_library(type, names);
  const auto redact_path = [&](std::string& path) { path = names.of_path(path, keeps_fields); };
  for (Type::Field& field : type.fields) {
    redact_path(field.name);
    field.type = names.of_type(field.type);
  }
  for (Type::Path& path : type.paths) redact_path(path.text);
  redact_path(type.elements.name);
  for (Type::Path& path : type.elements.paths) redact_path(path.text);
  for (Type::Key& key : type.keys) {
    redact_path(key.before);
    redact_path(key.after);
  }
  type.value_paths.clear();
  type.name = names.of_type(type.name);
  type.holder = names.of_type(type.holder);
  type.guess = names.of_type(type.guess);
}

void redact_root(snapshot::Root& root, const Placeholders& names) {
  const bool is_of_library = is_library_file(root.module);
  const bool is_register = snapshot::root_kind(root.kind).word == snapshot::RootWord::InRegister;
  const bool is_library = is_of_library || is_library_symbol(root.symbol, names.language()) ||
                          snapshot::is_in_collector(root.symbol);
  if (!is_library && !is_register) {
    root.symbol = names.of("global", root.symbol);
  }
  if (!is_of_library) root.module = names.of("module", root.module);
  root.variable = names.of("variable", root.variable);
}

void redact_place(snapshot::Place& place, const Placeholders& names) {
  if (is_library_file(place.module)) return;
  place.module = names.of("module", place.module);
  const auto redact_line = [&](snapshot::CodeLine& line) {
    line.function = names.of("function", line.function);
    line.file = names.of("file", line.file);
  };
  redact_line(place.at);
  for (snapshot::CodeLine& line : place.inlined) redact_line(line);
}

// The first part of a text, which says nothing about the program: "deadlock" of "deadlock: fiber
// \"a\" …", "read" of "read(5: pipe)", "7" of "7: /srv/app.log".
std::string begin_of(const std::string& text, std::string_view end) {
  const std::size_t at = text.find(end);
  return at == std::string::npos ? std::string() : text.substr(0, at);
}

// The function in "work (work.c:12)" gets the same placeholder as in frames.
std::string redact_own_function(const std::string& text, const Placeholders& names) {
  return names.of("function", std::string_view(text).substr(0, text.rfind(" (")));
}

void redact_waits(snapshot::Thread& thread, const Placeholders& names) {
  thread.wait.call = begin_of(thread.wait.call, "(");
  thread.wait.mutex = names.of("global", thread.wait.mutex);
  thread.wait.kind = snapshot::thread_wait_of(thread.wait.mutex);
  thread.function = redact_own_function(thread.function, names);
}

void redact_waits(snapshot::Fiber& fiber, const Placeholders& names) {
  fiber.wait.type = names.of_type(fiber.wait.type);
  fiber.wait.holder = names.of("global", fiber.wait.holder);
  fiber.wait.descriptor = begin_of(fiber.wait.descriptor, ":");
  fiber.function = redact_own_function(fiber.function, names);
  fiber.context = names.of("context", fiber.context);
  fiber.of_thread = begin_of(fiber.of_thread, " ");
}

// Whether the name of an attribute is one of OpenTelemetry's own (its semantic conventions).
bool is_of_convention(std::string_view name) {
  constexpr std::array<std::string_view, 12> kBegins{
      "service.", "deployment.", "telemetry.", "host.", "os.",  "process.",
      "k8s.",     "container.",  "cloud.",     "faas.", "aws.", "device."};
  return std::ranges::any_of(kBegins, [&](auto begin) { return name.starts_with(begin); });
}

void redact_attribute(Attribute& one, const Placeholders& names) {
  one.value = names.of("value", one.value);
  if (!is_of_convention(one.name)) one.name = names.of("attribute", one.name);
}

void redact_header(snapshot::Header& header, const Placeholders& names) {
  header.host = names.of("host", header.host);
  header.exe = names.of("program", header.exe);
  header.build_id = names.of_build_id(header.build_id);
  for (Attribute& one : header.resource) redact_attribute(one, names);
  header.redacted = "full";
  // Findings are sentences. The names in them are in the records as well.
  for (std::string& finding : header.findings) finding = begin_of(finding, ":");
  header.remarks.clear();
}

}  // namespace

bool redact(Snapshot& snapshot, const Placeholders& names) {
  if (!snapshot.header.redacted.empty()) return false;
  redact_header(snapshot.header, names);
  for (Type& type : snapshot.types) redact_type(type, names);
  for (snapshot::Thread& thread : snapshot.threads) {
    thread.name = names.of("thread", thread.name);
    redact_waits(thread, names);
  }
  for (snapshot::Fiber& fiber : snapshot.fibers) {
    fiber.name = names.of("fiber", fiber.name);
    redact_waits(fiber, names);
  }
  for (snapshot::Place& place : snapshot.places) redact_place(place, names);
  for (snapshot::Root& root : snapshot.roots) redact_root(root, names);
  snapshot.values.clear();
  snapshot.contents.reset();
  return true;
}

}  // namespace heapattach
