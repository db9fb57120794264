#pragma once

#include <optional>
#include <string_view>

#include "report/model/model.h"

namespace heapattach {

// Looks up the texts of objects, if the snapshot has them. Call it with ascending objects.
class TextValues {
 public:
  explicit TextValues(const snapshot::Snapshot& snapshot) : pieces_(snapshot.values) {}

  // The text of an object that is a string. It may contain any bytes.
  [[nodiscard]] std::optional<std::string_view> own_text(snapshot::ObjectIndex object) {
    while (next_ < pieces_.size() && pieces_[next_].first_object <= object) ++next_;
    if (next_ == 0) return std::nullopt;
    const snapshot::ValuePiece& piece = pieces_[next_ - 1];
    for (const snapshot::Value& value : piece.of(object)) {
      if (value.path == snapshot::Value::kOwn && value.is_text) return piece.text_of(value);
    }
    return std::nullopt;
  }

 private:
  const std::vector<snapshot::ValuePiece>& pieces_;
  std::size_t next_ = 0;  // the first piece after the last requested object
};

}  // namespace heapattach
