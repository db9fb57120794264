#pragma once

#include <string>

#include "tests/support/small_snapshot.h"

namespace heapattach {

// A small heap with everything that is difficult for formats: names that are markup, separators or
// not text at all, cycles, several roots, a type without a name, unreachable objects.
class HostileSnapshot : public SnapshotBuilder {
 public:
  HostileSnapshot() {
    const char* const names[] = {"Hash(String, Foo | Nil)",
                                 "</title><script>alert(1)</script>",
                                 "a;b c 17",
                                 "\"quoted\\\" \x1b[31m\n",
                                 "\xe2\x80\xae right to left",
                                 "not \xff utf-8 \xef\xbf\xbf",
                                 "Object",
                                 "String"};
    for (const char* name : names) (void)type(name);
    types_ = static_cast<std::uint32_t>(std::size(names));
    const std::uint32_t count = 5 * types_;
    for (std::uint32_t i = 0; i < count; ++i) {
      // Each type has its own size. Each object references the next one, and the last the first.
      auto& made = object(0x7f0000001000 + 4096ULL * i, i % types_, 16 * (1 + i % types_),
                          {{0, (i + 1) % (count - types_)}, {8 + 16 * (i % types_), 0}});
      if (i >= count - types_) made.is_reachable = 0;
    }
    snapshot::Root root;
    root.symbol = "CACHE \"x\";<y>\n";
    snapshot.roots.push_back(root);
    root = {};
    root.kind = snapshot::RootKind::Stack;
    root.thread = 4711;
    root.to = 3;
    snapshot.roots.push_back(root);
    root = {};
    root.kind = snapshot::RootKind::Fiber;
    root.fiber = 0x7f0000003000;
    root.to = 2;
    snapshot.roots.push_back(root);
    snapshot.fibers.push_back({0x7f0000003000, "worker;\x1b[2J<1>"});
    snapshot.header.exe = "/srv/\"app\"";
    snapshot.header.captured = "2026-11-20T11:34:07.215Z";
  }

  // Gives every String a text.
  void keep_texts() {
    snapshot::ValuePiece piece;
    piece.first_value.push_back(0);
    for (const snapshot::Object& each : snapshot.objects) {
      if (each.type == types_ - 1) {
        const std::string text = "</script>\x1b\xff\xe2\x80\xae";
        snapshot::Value value;
        value.at = piece.text.size();
        value.bytes = static_cast<std::uint32_t>(text.size());
        piece.text += text;
        piece.values.push_back(value);
      }
      piece.first_value.push_back(static_cast<std::uint32_t>(piece.values.size()));
    }
    snapshot.values.push_back(std::move(piece));
  }

 private:
  std::uint32_t types_ = 0;
};

}  // namespace heapattach
