#include "report/redact/redact.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "report/format/export/formats.h"
#include "report/format/write/json_lines.h"
#include "report/model/counts.h"
#include "tests/support/memory_sink.h"
#include "tests/support/small_snapshot.h"

namespace heapattach::snapshot {

namespace {

// A snapshot in which every name of the program's own contains "secret".
Snapshot secret_snapshot() {
  SnapshotBuilder build;
  const auto session = build.type("SecretShop::Session");
  const auto list = build.type("Array(SecretShop::Session)");
  const auto buffer = build.type("(buffer of Array(SecretShop::Session))");
  build.snapshot.types[session].fields = {{"@secret", "SecretShop::User", 8, 8}};
  build.snapshot.types[session].paths = {{8, "@secret.@secret_too"}};
  build.snapshot.types[session].value_paths = {"@secret_number"};
  build.snapshot.types[list].paths = {{8, "@buffer"}, {16, "@secret"}};
  build.snapshot.types[buffer].holder = "Array(SecretShop::Session)";
  build.snapshot.types[buffer].elements = {0, 16, "", {{0, "secret_key"}}};
  build.object(0x7f0000001000, session, 32, {{8, 1}});
  build.object(0x7f0000001020, list, 32, {{8, 2}, {16, 0}});
  build.object(0x7f0000001040, buffer, 64, {{16, 0}});
  build.object(0x7f0000001080, session, 32);
  Root root;
  root.symbol = "SecretShop::STORE";
  root.module = "secret-shop";
  build.snapshot.roots.push_back(root);
  root.symbol = "main_arena";
  root.module = "libc.so.6";
  root.to = 3;
  build.snapshot.roots.push_back(root);
  build.snapshot.places = {{0x41,
                            {"Secret#keep", "/srv/secret.cr", 5},
                            {{"secret_part", "secret.cr", 7}},
                            "secret-shop"},
                           {0x42, {"read", "read.c", 26}, {}, "libc.so.6"}};
  build.snapshot.stacks = {{{{1}, {0}}, 0, 0, {}}};
  build.snapshot.threads.push_back({4711, "secret-thread", 'S', 0});
  root.kind = RootKind::Stack;
  root.symbol.clear();
  root.thread = 4711;
  root.frame = 1;
  root.variable = "secret_session";
  build.snapshot.roots.push_back(root);
  build.snapshot.fibers.push_back({0x7f0000001000, "secret-fiber"});
  Thread& thread = build.snapshot.threads[0];
  thread.wait = {.call = "openat(\"/srv/secret\")", .thread = {}, .mutex = "secret_lock"};
  thread.function = "secret_part (secret.cr:7)";
  Fiber& fiber = build.snapshot.fibers[0];
  fiber.wait.kind = WaitKind::Mutex;
  fiber.wait.type = "Channel(SecretShop::Session)";
  fiber.wait.holder = "SecretShop::LOCK";
  fiber.wait.descriptor = "7: /srv/secret.log";
  fiber.function = "Secret#keep (/srv/secret.cr:5)";
  fiber.context = "secret-context";
  fiber.of_thread = "4711 secret-thread";
  build.snapshot.header.findings = {"deadlock: fiber \"secret-fiber\" in Secret#keep waits"};
  build.snapshot.header.remarks = {"1 fiber waits for SecretShop::LOCK"};
  build.snapshot.header.host = "secret-host";
  build.snapshot.header.exe = "/srv/secret";
  build.snapshot.header.resource = {{"service.name", "secret"}, {"secret.team", "a"}};
  build.snapshot.header.build_id = "3317f6a05ec7e7";
  build.snapshot.header.runtime = "crystal";
  ValuePiece piece;
  piece.first_value = {0, 1, 1, 1, 1};
  piece.text = "a secret text";
  piece.values.push_back({0, 13, Value::kOwn, true, false});
  build.snapshot.values.push_back(piece);
  return std::move(build.snapshot);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), ::tolower);
  return text;
}

std::string lines_of(const Snapshot& snapshot) {
  MemorySink sink;
  REQUIRE(write_json_lines(snapshot, sink, {}));
  return sink.text;
}

}  // namespace

TEST_CASE("a redacted snapshot has none of the program's names in any format") {
  Snapshot snapshot = secret_snapshot();
  CHECK(lower(lines_of(snapshot)).find("secret") != std::string::npos);
  CHECK(redact(snapshot, Placeholders(snapshot.header.build_id, Language::Crystal)));
  const std::string lines = lines_of(snapshot);
  CAPTURE(lines);
  CHECK(lower(lines).find("secret") == std::string::npos);
  CHECK(lines.find("3317f6a05ec7e7") == std::string::npos);
  CHECK(lines.find("\"redacted\":\"full\"") != std::string::npos);
  CHECK(lines.find("\"@buffer\":\"0x7f0000001040\"") != std::string::npos);
  CHECK(lines.find("\"symbol\":\"main_arena\",\"module\":\"libc.so.6\"") != std::string::npos);
  CHECK(lines.find("\"function\":\"read\",\"file\":\"read.c\",\"line\":26") != std::string::npos);
  CHECK(lines.find("\"line\":7") != std::string::npos);
  CHECK(lines.find("\"resource\":{\"service.name\":\"value-") != std::string::npos);
  CHECK(lines.find("\"attribute-") != std::string::npos);
  CHECK(lines.find("\"findings\":[\"deadlock\"]") != std::string::npos);
  CHECK(lines.find("\"waits\":{\"call\":\"openat\"") != std::string::npos);
  CHECK(lines.find("\"type\":\"Channel(Type-") != std::string::npos);
  CHECK(lines.find("\"descriptor\":\"7\"") != std::string::npos);
  for (const Format* const format : formats_with(writes<&Format::snapshot>)) {
    CAPTURE(format->name);
    MemorySink sink;
    REQUIRE(format->snapshot(snapshot, sink, {}));
    CHECK(lower(sink.text).find("secret") == std::string::npos);
  }
}

TEST_CASE("redaction leaves counts, sizes and edges unchanged") {
  const Snapshot before = secret_snapshot();
  Snapshot after = before;
  REQUIRE(redact(after, Placeholders(before.header.build_id, Language::Crystal)));
  const auto was = count_objects(before).rows;
  const auto is = count_objects(after).rows;
  REQUIRE(was.size() == is.size());
  const auto figures = [](const std::vector<CountRow>& rows) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
    for (const CountRow& row : rows) all.emplace_back(row.bytes, row.objects);
    std::sort(all.begin(), all.end());
    return all;
  };
  CHECK(figures(was) == figures(is));
  CHECK(after.edges.size() == before.edges.size());
  CHECK(after.objects.size() == before.objects.size());
}

TEST_CASE("a redacted snapshot is not redacted again") {
  Snapshot snapshot = secret_snapshot();
  const Placeholders names(snapshot.header.build_id, Language::Crystal);
  REQUIRE(redact(snapshot, names));
  const std::string once = lines_of(snapshot);
  CHECK_FALSE(redact(snapshot, Placeholders(snapshot.header.build_id, Language::Crystal)));
  CHECK(lines_of(snapshot) == once);
}

}  // namespace heapattach::snapshot
