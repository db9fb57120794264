#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "symbols/nix/facts.h"
#include "symbols/nix/names.h"
#include "tests/support/typed_heap.h"

namespace heapattach {

// A heap of Nix 2.8, and the expressions of its program, built by hand.
class NixHeap {
 public:
  static constexpr RemoteAddr kProgram{0x5670'0000'0000};
  static constexpr std::uint64_t kProgramBytes = 0x10000;

  NixHeap() {
    heap.fake.add_memory(kProgram, kProgramBytes);
    facts.no_position = room(16);
    put(facts.no_position + 8, std::uint64_t{2} << 32);
    for (const nix::ExpressionClass& one : nix::expression_classes()) {
      facts.classes.emplace(room(8), &one);
    }
    heap.namer = [this](const runtimes::HeapView& view) {
      runtimes::ObjectNames names(view.heap().slots());
      nix::name_objects(facts, view, names);
      return names;
    };
  }

  // Takes memory outside the heap.
  std::uint64_t room(std::uint64_t bytes) {
    const std::uint64_t at = next_;
    next_ += (bytes + 15) / 16 * 16;
    return at;
  }
  void put(std::uint64_t at, std::uint64_t word) { heap.fake.put(RemoteAddr{at}, word); }

  // Makes a std::string, to which a symbol points.
  std::uint64_t symbol(std::string_view text) {
    const std::uint64_t at = room(32);
    const std::uint64_t characters = room(text.size() + 1);
    put(at, characters);
    put(at + 8, text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
      heap.fake.put(RemoteAddr{characters + i}, text[i]);
    }
    return at;
  }
  void put_position(std::uint64_t at, std::uint32_t line, std::uint32_t origin = 0) {
    put(at, symbol("/srv/shop.nix"));
    put(at + 8, line | std::uint64_t{origin} << 32);
  }
  std::uint64_t position(std::uint32_t line) {
    const std::uint64_t at = room(16);
    put_position(at, line);
    return at;
  }
  // Makes an expression of the class with this name: "ExprCall".
  std::uint64_t expression(std::string_view name, std::uint32_t line) {
    const std::uint64_t at = room(112);
    for (const auto& [word, one] : facts.classes) {
      if (one->vtable.find(name) == std::string_view::npos) continue;
      put(at, word);
      if (line != 0) put_position(at + one->offset, line);
    }
    return at;
  }

  // Makes an object that begins with these words.
  std::uint64_t object(const std::vector<std::uint64_t>& words,
                       std::uint64_t bytes,
                       std::uint8_t kind = heap::kNormal) {
    const std::uint64_t at = heap.object(bytes, kind).value;
    for (std::size_t i = 0; i < words.size(); ++i) put(at + i * 8, words[i]);
    return at;
  }
  std::uint64_t value(std::uint32_t type, std::uint64_t first = 0, std::uint64_t second = 0) {
    return object({type, first, second}, 32);
  }
  std::uint64_t environment(const std::vector<std::uint64_t>& variables, std::uint64_t up = 0) {
    std::vector<std::uint64_t> words{up, 0};
    words.insert(words.end(), variables.begin(), variables.end());
    return object(words, (words.size() + 1) / 2 * 16);
  }
  using Attribute = std::pair<std::string, std::uint64_t>;
  std::uint64_t attributes(std::uint64_t position, const std::vector<Attribute>& named) {
    std::vector<std::uint64_t> words{position, named.size() | named.size() << 32};
    for (const auto& [name, value] : named) {
      words.insert(words.end(), {symbol(name), value, facts.no_position});
    }
    return object(words, (words.size() + 1) / 2 * 16);
  }

  [[nodiscard]] std::string type_at(std::uint64_t at) { return heap.type_at(RemoteAddr{at}); }
  [[nodiscard]] std::string keys_at(std::uint64_t at) { return heap.keys_at(RemoteAddr{at}); }

  TypedHeap heap;
  nix::Facts facts;

 private:
  std::uint64_t next_ = kProgram.value;
};

}  // namespace heapattach
