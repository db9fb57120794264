#include "report/redact/redact.h"

#include "report/redact/library_names.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;
using snapshot::Type;

// Of a generic type or a buffer the part that says whose it is: "Hash" of "(buffer of Hash(A, B))".
bool is_of_library(const Type& type, const StandIns& names) {
  std::string_view name = type.holder.empty() ? type.name : type.holder;
  name = name.substr(0, name.find_first_of("(<"));
  const bool has_own_elements = !type.holder.empty() && name != "Hash" && name != "Set";
  return !has_own_elements && is_library_type(name, names.is_of_crystal());
}

void redact_type(Type& type, const StandIns& names) {
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
}

void redact_root(snapshot::Root& root, const StandIns& names) {
  const bool is_of_library = is_library_file(root.module);
  const bool is_register = root.kind == snapshot::RootKind::Register;
  if (!is_of_library && !is_register && !is_library_symbol(root.symbol, names.is_of_crystal())) {
    root.symbol = names.of("global", root.symbol);
  }
  if (!is_of_library) root.module = names.of("module", root.module);
  root.variable = names.of("variable", root.variable);
}

void redact_place(snapshot::Place& place, const StandIns& names) {
  if (is_library_file(place.module)) return;
  place.module = names.of("module", place.module);
  const auto redact_line = [&](snapshot::CodeLine& line) {
    line.function = names.of("function", line.function);
    line.file = names.of("file", line.file);
  };
  redact_line(place.at);
  for (snapshot::CodeLine& line : place.inlined) redact_line(line);
}

void redact_header(snapshot::Header& header, const StandIns& names) {
  header.host = names.of("host", header.host);
  header.exe = names.of("program", header.exe);
  header.build_id = names.of_build_id(header.build_id);
  header.redacted = "full";
}

}  // namespace

bool redact(Snapshot& snapshot, const StandIns& names) {
  if (!snapshot.header.redacted.empty()) return false;
  redact_header(snapshot.header, names);
  for (Type& type : snapshot.types) redact_type(type, names);
  for (snapshot::Thread& thread : snapshot.threads) thread.name = names.of("thread", thread.name);
  for (snapshot::Fiber& fiber : snapshot.fibers) fiber.name = names.of("fiber", fiber.name);
  for (snapshot::Place& place : snapshot.places) redact_place(place, names);
  for (snapshot::Root& root : snapshot.roots) redact_root(root, names);
  snapshot.values.clear();
  snapshot.contents.reset();
  return true;
}

}  // namespace heapattach
