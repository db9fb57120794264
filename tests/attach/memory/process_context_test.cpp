#include "attach/memory/process_context.h"

#include <cstring>
#include <string>

#include <doctest/doctest.h>

#include "tests/fakes/fake_memory.h"
#include "tests/support/context_message.h"

namespace heapattach {

namespace {

constexpr RemoteAddr kHeader{0x10000};
constexpr RemoteAddr kPayload{0x20000};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

struct Header {
  char signature[8] = {'O', 'T', 'E', 'L', '_', 'C', 'T', 'X'};
  std::uint32_t version = 2;
  std::uint32_t payload_bytes = 0;
  std::uint64_t published_ns = 1;
  std::uint64_t payload = kPayload.value;
};

MemoryMap map_with(std::string path) {
  Mapping mapping;
  mapping.range = {kHeader, 0x1000};
  mapping.path = std::move(path);
  return MemoryMap({mapping});
}

const std::string kShop = context::field(1, context::attribute("service.name", "shop"));

// Fills the memory of a process with a context of this payload.
void put_context(const std::string& payload, Header header, FakeMemory& memory) {
  if (header.payload_bytes == 0) header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  memory.put(kHeader, header);
  memory.put_bytes(kPayload, bytes_of(payload));
}

Result<Attributes> read_from(const std::string& path, const Header& header = {}) {
  FakeMemory memory;
  put_context(kShop, header, memory);
  return read_process_context(memory, map_with(path));
}

// Memory whose header changes whenever the payload is read, but not endlessly.
class ChangingMemory final : public MemoryReader {
 public:
  explicit ChangingMemory(int changes) : changes_(changes) { put_context(kShop, {}, memory_); }

  Result<std::size_t> read_some(RemoteAddr from, std::span<std::byte> into) const override {
    const auto got = memory_.read_some(from, into);
    if (from == kPayload && changes_ > 0) {
      --changes_;
      const std::uint64_t later = 100 + static_cast<std::uint64_t>(changes_);
      memory_.put(kHeader + 16, later);
    }
    return got;
  }

 private:
  mutable FakeMemory memory_;
  mutable int changes_;
};

}  // namespace

TEST_CASE("a process context has the attributes of its resource, and others") {
  using namespace context;
  const std::string resource =
      field(1, attribute("service.name", "shop")) + field(1, attribute("service.version", "1.2"));
  const auto found =
      decode_process_context(bytes_of(field(1, resource) + field(2, attribute("thread.key", "x"))));
  REQUIRE(found);
  CHECK(*found ==
        Attributes{{"service.name", "shop"}, {"service.version", "1.2"}, {"thread.key", "x"}});
}

TEST_CASE("a process context of earlier publishers is the resource itself") {
  using namespace context;
  const auto found =
      decode_process_context(bytes_of(field(1, attribute("service.name", "shop")) +
                                      field(1, attribute("host.name", "a")) + number(2, 3)));
  REQUIRE(found);
  CHECK(*found == Attributes{{"service.name", "shop"}, {"host.name", "a"}});
}

TEST_CASE("values of a process context become texts") {
  using namespace context;
  const auto text_of = [](const std::string& value) {
    const auto found = decode_process_context(bytes_of(field(1, field(1, "k") + field(2, value))));
    REQUIRE(found);
    REQUIRE(found->size() == 1);
    return found->front().value;
  };
  CHECK(text_of(number(2, 1)) == "true");
  CHECK(text_of(number(3, ~std::uint64_t{6})) == "-7");
  const double half = 0.5;
  std::string eight(8, '\0');
  std::memcpy(eight.data(), &half, 8);
  CHECK(text_of("\x21" + eight) == "0.5");
  const std::string list = field(1, field(1, "a\"b")) + field(1, number(2, 0));
  CHECK(text_of(field(5, list)) == R"(["a\"b",false])");
  CHECK(text_of(field(6, field(1, attribute("a", "b")))) == R"({"a":"b"})");
  CHECK(text_of(field(7, "xyz")) == "(3 bytes)");
  CHECK(text_of("") == "");
  CHECK(text_of(field(1, std::string(2000, 'x'))) == std::string(1024, 'x') + "…");
  std::string two_bytes;
  for (int i = 0; i < 600; ++i) two_bytes += i == 0 ? "x" : "é";
  CHECK(text_of(field(1, two_bytes)).size() == 1023 + 3);
}

TEST_CASE("each attribute of a process context counts once, and too many are left out") {
  using namespace context;
  std::string resource = field(1, attribute("a", "first")) + field(1, attribute("a", "second"));
  resource += field(1, attribute("", "nameless"));
  for (int i = 0; i < 1000; ++i) resource += field(1, attribute("k" + std::to_string(i), "v"));
  const auto found = decode_process_context(bytes_of(field(1, resource)));
  REQUIRE(found);
  CHECK(found->size() == 128);
  CHECK(found->front() == Attribute{"a", "first"});
}

TEST_CASE("an attribute of a process context may have no value") {
  using namespace context;
  const auto found = decode_process_context(bytes_of(field(1, field(1, field(1, "team")))));
  REQUIRE(found);
  CHECK(*found == Attributes{{"team", ""}});
}

TEST_CASE("a damaged process context is refused as a whole") {
  using namespace context;
  const std::string good = field(1, field(1, attribute("service.name", "shop")));
  for (std::size_t bytes = 1; bytes < good.size(); ++bytes) {
    CAPTURE(bytes);
    CHECK_FALSE(decode_process_context(bytes_of(good.substr(0, bytes))));
  }
  for (const std::string& bad :
       {std::string("\x0b\x01"), std::string("\x00\x01", 2), field(1, "\x0a\x7f"),
        std::string(12, '\xff'), field(1, field(1, field(1, "k") + field(2, "\x0a\x05x")))}) {
    CHECK_FALSE(decode_process_context(bytes_of(bad)));
  }
  CHECK(decode_process_context({})->empty());
}

TEST_CASE("values within values are shown to a limited depth") {
  using namespace context;
  std::string value = field(1, "deep");
  for (int i = 0; i < 2000; ++i) value = field(5, field(1, value));
  const auto found = decode_process_context(bytes_of(field(1, field(1, "k") + field(2, value))));
  REQUIRE(found);
  CHECK(found->front().value == "[[[[[[[[…]]]]]]]]");
}

TEST_CASE("a process context is found by the names of its mapping") {
  for (const char* path : {"/memfd:OTEL_CTX", "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]"}) {
    CAPTURE(path);
    const auto found = read_from(path);
    REQUIRE(found);
    CHECK(*found == Attributes{{"service.name", "shop"}});
  }
  const auto none = read_from("/memfd:other");
  REQUIRE(none);
  CHECK(none->empty());
}

TEST_CASE("a process context that is not one is refused, with what is wrong") {
  const auto refusal = [](const Header& header) {
    const auto found = read_from("/memfd:OTEL_CTX", header);
    REQUIRE_FALSE(found);
    return found.error().message();
  };
  CHECK(refusal({.signature = {'O'}}).find("signature") != std::string::npos);
  CHECK(refusal({.version = 3}).find("version is 3") != std::string::npos);
  CHECK(refusal({.payload_bytes = 1U << 30U}).find("more than 65536") != std::string::npos);
  CHECK(refusal({.published_ns = 0}).find("is changing it") != std::string::npos);
  CHECK(refusal({.payload = 0x666}).find("0x666") != std::string::npos);
  CHECK(refusal({.payload = ~std::uint64_t{0} - 4}).find("0xfffffffffffffffb") !=
        std::string::npos);
  const auto unreadable = read_process_context(FakeMemory(), map_with("/memfd:OTEL_CTX"));
  REQUIRE_FALSE(unreadable);
  CHECK(unreadable.error().kind == ErrorKind::Fault);
}

TEST_CASE("a process context that changes while it is read is read again") {
  const auto found = read_process_context(ChangingMemory(3), map_with("/memfd:OTEL_CTX"));
  REQUIRE(found);
  CHECK(*found == Attributes{{"service.name", "shop"}});
  CHECK_FALSE(read_process_context(ChangingMemory(1000), map_with("/memfd:OTEL_CTX")));
}

}  // namespace heapattach
