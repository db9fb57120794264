#pragma once

#include <cstdint>
#include <ctime>
#include <string>

namespace heapattach {

// Converts a time from a record (RFC 3339, UTC), ignoring its fraction; 0 if the text is not a
// time.
inline std::uint64_t unix_nanoseconds(const std::string& rfc3339) {
  std::tm parts{};
  const char* const rest = ::strptime(rfc3339.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return 0;
  const std::time_t seconds = ::timegm(&parts);
  return seconds < 0 ? 0 : static_cast<std::uint64_t>(seconds) * 1'000'000'000;
}

}  // namespace heapattach
