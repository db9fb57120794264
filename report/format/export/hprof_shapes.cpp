#include "report/format/export/hprof_shapes.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/format/export/root_groups.h"

namespace heapattach {

namespace {

constexpr std::size_t kMostWords = 128;  // of the fields of a class
constexpr std::uint32_t kNoSize = 0xffffffff;

// The size class and the words with references that the objects of a type share.
struct Seen {
  std::uint32_t size_class = kNoSize;
  bool is_class = true;
  std::vector<std::uint32_t> words;  // rising
};

void see(const snapshot::Snapshot& snapshot, std::size_t index, Seen& seen) {
  const snapshot::Object& object = snapshot.objects[index];
  if (seen.size_class == kNoSize) seen.size_class = object.size_class;
  seen.is_class &= seen.size_class == object.size_class;
  for (const snapshot::Edge& edge : snapshot.edges_of(index)) {
    if (!seen.is_class) return;
    const std::uint32_t word = edge.offset_words;
    const auto at = std::lower_bound(seen.words.begin(), seen.words.end(), word);
    if (at == seen.words.end() || *at != word) seen.words.insert(at, word);
    seen.is_class = seen.words.size() <= kMostWords;
  }
}

std::string name_of(const snapshot::Type& type, std::uint64_t offset) {
  for (const auto& path : type.paths) {
    if (path.offset == offset && !path.text.empty()) return path.text;
  }
  return fmt::format("+{}", offset);
}

}  // namespace

std::vector<HprofShape> hprof_shapes(const snapshot::Snapshot& snapshot) {
  std::vector<Seen> seen(snapshot.types.size());
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    if (is_counted(snapshot, snapshot.objects[i])) see(snapshot, i, seen[snapshot.objects[i].type]);
  }
  std::vector<HprofShape> shapes(snapshot.types.size());
  for (std::size_t type = 0; type < shapes.size(); ++type) {
    HprofShape& shape = shapes[type];
    shape.has_objects = seen[type].size_class != kNoSize;
    if (!shape.has_objects || !seen[type].is_class) continue;
    // A reader adds a head of two words to the fields.
    const std::uint64_t words = snapshot.sizes[seen[type].size_class] / 8;
    const std::uint64_t taken = seen[type].words.size() + 2;
    const std::uint64_t fill = words > taken ? words - taken : 0;
    if (fill > kMostWords) continue;
    shape.is_class = true;
    shape.fill_words = static_cast<std::uint32_t>(fill);
    shape.words = std::move(seen[type].words);
    for (const std::uint64_t word : shape.words) {
      shape.names.push_back(name_of(snapshot.types[type], word * 8));
    }
  }
  return shapes;
}

}  // namespace heapattach
