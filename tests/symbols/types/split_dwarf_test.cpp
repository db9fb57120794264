#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "symbols/dwarf/dwarf_types.h"
#include "symbols/elf/companions.h"
#include "tests/symbols/types/file_bytes.h"
#include "tests/symbols/types/typed_program.h"

namespace heapattach::types {

// Reads debug information that is spread over several files: split units, packages of them, and
// supplementary files that dwz has made.
namespace {

using Lines = std::vector<std::string>;
Result<Fd> open_anywhere(const std::string& path) {
  return Fd::open(path, O_RDONLY);
}
// Opens packages, but not the .dwo files that they were made from, which still exist.
Result<Fd> open_packages(const std::string& path) {
  if (path.ends_with(".dwp")) return open_anywhere(path);
  return Error{ErrorKind::Gone, path};
}
Result<Fd> open_nothing(const std::string& path) {
  return Error{ErrorKind::Gone, path};
}

struct Read {
  TypeModel model;
  Companions companions;
};

Read read(const std::string& program,
          const std::function<Result<Fd>(const std::string&)>& open = open_anywhere) {
  const auto file = Fd::open(program, O_RDONLY);
  REQUIRE(file);
  Read result;
  result.companions = find_companions(*file, {program, "", {}, open});
  TypeOptions options;
  options.use_sandbox = false;
  result.model = read_types_of(*file, 0x10000, options, result.companions.files);
  return result;
}

bool has_note(const TypeModel& model, const std::string& part) {
  return std::any_of(model.notes.begin(), model.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

// Describes every type with its size and members, and every global with its type and whether it has
// an address.
Lines content_of(const TypeModel& model) {
  Lines lines;
  for (const Type& type : model.types()) {
    std::string line = fmt::format("{} {}:", type.name, type.bytes.value_or(0));
    for (const Member& member : type.members) {
      line += fmt::format(" {} {} {}", member.offset, member.name,
                          member.type == kNoType ? "" : model[member.type].name);
    }
    lines.push_back(std::move(line));
  }
  for (const Variable& variable : model.globals) {
    lines.push_back(fmt::format("{} {} {}", variable.name, model[variable.type].name,
                                variable.address.value > 0x10000));
  }
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

Lines missing_in(const Lines& found, const Lines& wanted) {
  Lines missing;
  std::set_difference(wanted.begin(), wanted.end(), found.begin(), found.end(),
                      std::back_inserter(missing));
  return missing;
}

// The unsplit program with which a split one is compared.
std::string whole_of(const std::string& split) {
  const std::string name = std::filesystem::path(split).filename();
  return fmt::format("{}/{}_{}", TYPED_DIR, name.substr(0, name.find("_split")), name.back());
}

// Reads `program` with these bytes in place of its companion file.
TypeModel read_with(const std::string& program, const Bytes& bytes) {
  return read(program, [&](const std::string&) -> Result<Fd> { return file_of(bytes); }).model;
}

}  // namespace

TEST_CASE("a split program has the types and globals of an unsplit one") {
  for (const char* source : {"c", "cxx"}) {
    for (const bool packaged : {false, true}) {
      for (const std::string& program : split_programs(source, packaged)) {
        CAPTURE(program);
        const Read split = read(program, packaged ? open_packages : open_anywhere);
        CHECK(split.companions.files.size() == 1);
        const TypeModel whole = read(whole_of(program)).model;
        CHECK(missing_in(content_of(split.model), content_of(whole)) == Lines{});
        CHECK_FALSE(has_note(split.model, "missing"));
      }
    }
  }
}

TEST_CASE("the loss from a missing file of split debug information is reported") {
  for (const std::string& program : split_programs("c", false)) {
    CAPTURE(program);
    const TypeModel model = read(program, open_nothing).model;
    CHECK(model.empty());
    CHECK(has_note(model, "split debug information is missing: "));
    CHECK(has_note(model, "not found"));
  }
}

TEST_CASE("a file of split debug information from another build is named and not used") {
  for (const std::string& program : split_programs("c", false)) {
    CAPTURE(program);
    const std::string other = split_programs("cxx", false).front() + ".dwo";
    const TypeModel model = read_with(program, bytes_of(other));
    CHECK(model.empty());
    CHECK(has_note(model, "does not have the unit with the id"));
  }
}

TEST_CASE("only a regular file is used as split debug information") {
  for (const std::string& program : split_programs("c", false)) {
    const Read result =
        read(program, [](const std::string&) { return open_anywhere("/dev/zero"); });
    CHECK(result.companions.files.empty());
    CHECK(result.model.empty());
  }
}

TEST_CASE("what dwz moved to a supplementary file is read there") {
  const std::string program = std::string(TYPED_DIR) + "/c_gcc_moved";
  if (!std::filesystem::exists(program + ".supplement")) return;
  const Read moved = read(program);
  CHECK(moved.companions.files.size() == 1);
  const TypeModel whole = read(std::string(TYPED_DIR) + "/c_gcc_4").model;
  CHECK(missing_in(content_of(moved.model), content_of(whole)) == Lines{});
  CHECK(has_note(read(program, open_nothing).model, "is missing: not found"));
  const Bytes other = bytes_of(whole_of(split_programs("cxx", false).front()));
  CHECK(has_note(read_with(program, other), "its build id differs"));
}

}  // namespace heapattach::types
