#include "report/stacks/descriptors.h"

#include <array>
#include <charconv>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

#include "attach/process/descriptors.h"
#include "attach/process/kernel_text.h"

namespace heapattach::stacks {

namespace {

constexpr std::uint64_t kLargestDescriptor = 1U << 30U;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::optional<std::uint64_t> number(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return {};
  return value;
}

// "0100007F:0050" is 127.0.0.1:80: words of four bytes in the machine's order, in hex.
std::string address_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return "?";
  const auto port = number(text.substr(colon + 1), 16);
  const std::string_view hex = text.substr(0, colon);
  std::vector<std::uint32_t> bytes;
  for (std::size_t at = 0; at + 8 <= hex.size(); at += 8) {
    const auto word = number(hex.substr(at, 8), 16);
    if (!word) return "?";
    for (int shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<std::uint32_t>(*word >> shift) & 0xff);
    }
  }
  if (!port || (bytes.size() != 4 && bytes.size() != 16)) return "?";
  if (bytes.size() == 4) {
    return fmt::format("{}.{}.{}.{}:{}", bytes[0], bytes[1], bytes[2], bytes[3], *port);
  }
  std::string groups;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    groups += fmt::format("{}{:x}", i == 0 ? "" : ":", bytes[i] << 8U | bytes[i + 1]);
  }
  if (groups == "0:0:0:0:0:0:0:0") groups = "::";
  if (groups == "0:0:0:0:0:0:0:1") groups = "::1";
  return fmt::format("[{}]:{}", groups, *port);
}

// TCP_ESTABLISHED and so on: include/net/tcp_states.h.
std::string_view state_of(std::uint64_t state) {
  constexpr std::array<std::string_view, 12> kStates = {
      "",          "",        "connecting", "being connected",         "closing",
      "closing",   "closing", "closed",     "half closed by the peer", "closing",
      "listening", "closing"};
  return state < kStates.size() ? kStates[state] : "";
}

}  // namespace

void read_inet_sockets(std::string_view text,
                       std::string_view protocol,
                       std::map<std::uint64_t, std::string>& sockets) {
  for_each_line(text, [&](std::string_view line) {
    const auto words = words_of(line);
    if (words.size() < 10) return;
    const auto inode = number(words[9], 10);
    const auto state = number(words[3], 16);
    if (!inode || !state) return;
    std::string what = fmt::format("{} {}", protocol, address_of(words[1]));
    const std::string peer = address_of(words[2]);
    if (!peer.ends_with(":0")) what += " to " + peer;
    const std::string_view name = protocol == "TCP" ? state_of(*state) : std::string_view();
    if (!name.empty()) what += fmt::format(" {}", name);
    sockets.emplace(*inode, std::move(what));
  });
}

void read_unix_sockets(std::string_view text, std::map<std::uint64_t, std::string>& sockets) {
  for_each_line(text, [&](std::string_view line) {
    const auto words = words_of(line);
    if (words.size() < 7) return;
    const auto inode = number(words[6], 10);
    if (!inode) return;
    sockets.emplace(*inode, words.size() > 7 ? fmt::format("unix socket {}", words[7])
                                             : std::string("unix socket"));
  });
}

// "flags:	02100002", in octal.
std::optional<int> read_access(std::string_view text) {
  const auto flags = number_after(text, "flags", 8);
  if (!flags) return {};
  return static_cast<int>(*flags & O_ACCMODE);
}

// "tfd:        7 events:       19 data: …", a line for each.
std::vector<Watched> read_watched(std::string_view text) {
  std::vector<Watched> watched;
  for_each_line(text, [&](std::string_view line) {
    const auto words = words_of(line);
    if (words.size() < 4 || words[0] != "tfd:" || words[2] != "events:") return;
    const auto fd = number(words[1], 10);
    const auto events = number(words[3], 16);
    if (fd && events) watched.push_back({*fd, static_cast<std::uint32_t>(*events)});
  });
  return watched;
}

std::set<pid_t> read_children(std::string_view text) {
  std::set<pid_t> children;
  for (const std::string_view word : words_of(text)) {
    if (const auto pid = number(word, 10)) children.insert(static_cast<pid_t>(*pid));
  }
  return children;
}

std::string Descriptors::what_is(std::uint64_t fd) {
  if (process_ == nullptr || fd > kLargestDescriptor) return {};
  const auto link = process_->read_link(fmt::format("fd/{}", fd));
  if (!link) return {};
  constexpr std::string_view kSocket = "socket:[";
  constexpr std::string_view kAnonymous = "anon_inode:";
  if (link->starts_with(kSocket)) {
    if (!sockets_) {
      sockets_.emplace();
      const std::array<std::array<const char*, 2>, 4> kinds = {
          {{"net/tcp", "TCP"}, {"net/tcp6", "TCP"}, {"net/udp", "UDP"}, {"net/udp6", "UDP"}}};
      for (const auto& [file, protocol] : kinds) {
        if (const auto text = process_->read_file(file)) {
          read_inet_sockets(*text, protocol, *sockets_);
        }
      }
      if (const auto text = process_->read_file("net/unix")) read_unix_sockets(*text, *sockets_);
    }
    const std::string_view rest = std::string_view(*link).substr(kSocket.size());
    const auto inode = number(rest.substr(0, rest.find(']')), 10);
    const auto known = inode ? sockets_->find(*inode) : sockets_->end();
    return known == sockets_->end() ? "socket" : known->second;
  }
  if (link->starts_with("pipe:[")) return "pipe";
  if (link->starts_with(kAnonymous)) {
    std::string_view what = std::string_view(*link).substr(kAnonymous.size());
    if (what.starts_with('[') && what.ends_with(']')) what = what.substr(1, what.size() - 2);
    return std::string(what);
  }
  return *link;
}

std::optional<int> Descriptors::access_of(std::uint64_t fd) const {
  if (process_ == nullptr || fd > kLargestDescriptor) return {};
  const auto text = process_->read_file(fmt::format("fdinfo/{}", fd));
  return text ? read_access(*text) : std::nullopt;
}

std::optional<std::size_t> Descriptors::watched_by(std::uint64_t epoll_fd) const {
  if (process_ == nullptr || epoll_fd > kLargestDescriptor) return {};
  const auto text = process_->read_file(fmt::format("fdinfo/{}", epoll_fd));
  if (!text) return {};
  return read_watched(*text).size();
}

std::vector<Watched> Descriptors::all_watched() const {
  std::vector<Watched> all;
  if (process_ == nullptr) return all;
  for (const Descriptor& one : open_descriptors(*process_)) {
    if (one.link != "anon_inode:[eventpoll]") continue;
    const auto text = process_->read_file(fmt::format("fdinfo/{}", one.number));
    if (!text) continue;
    const std::vector<Watched> watched = read_watched(*text);
    all.insert(all.end(), watched.begin(), watched.end());
  }
  return all;
}

std::set<pid_t> Descriptors::children() const {
  std::set<pid_t> children;
  if (process_ == nullptr) return children;
  const auto threads = process_->list_threads();
  if (!threads) return children;
  for (const pid_t tid : threads->tids) {
    const auto text = process_->read_file(fmt::format("task/{}/children", tid));
    if (text) children.merge(read_children(*text));
  }
  return children;
}

}  // namespace heapattach::stacks
