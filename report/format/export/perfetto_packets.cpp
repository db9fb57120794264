#include "report/format/export/perfetto_packets.h"

#include <utility>

#include <fmt/format.h>

#include "report/format/export/unix_time.h"
#include "report/text/terminal_text.h"

namespace heapattach::perfetto {

namespace {

constexpr std::uint32_t kPacket = 1;  // of the trace

// Fields of a packet that stand beside its message.
constexpr std::uint32_t kTime = 8;
constexpr std::uint32_t kSequence = 10;
constexpr std::uint32_t kNames = 12;
constexpr std::uint32_t kSequenceFlags = 13;
constexpr std::uint32_t kDefaults = 59;

// Bits of kSequenceFlags: earlier names no longer apply; the packet needs names.
constexpr std::uint64_t kIsCleared = 1;
constexpr std::uint64_t kNeedsNames = 2;

// Fields of the names.
constexpr std::uint32_t kFunctionNames = 5;
constexpr std::uint32_t kFrames = 6;
constexpr std::uint32_t kCallstacks = 7;
constexpr std::uint32_t kMappingPaths = 17;
constexpr std::uint32_t kSourcePaths = 18;
constexpr std::uint32_t kMappings = 19;
constexpr std::uint32_t kAsyncContexts = 51;

ProtobufMessage packet_of(const Moment& moment) {
  ProtobufMessage packet;
  packet.number(kTime, moment.time_ns);
  packet.number(kSequence, moment.sequence);
  return packet;
}

// FNV-1a. It only has to differ between the moments of one file.
std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 0x811c9dc5U;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x01000193U;
  return hash;
}

}  // namespace

Moment moment_of(pid_t pid, const std::string& exe, const std::string& captured) {
  Moment moment;
  moment.pid = pid;
  moment.exe = exe;
  moment.time_ns = unix_nanoseconds(captured);
  if (const std::size_t dot = captured.find('.'); dot != std::string::npos) {
    std::uint64_t millis = 0;
    for (std::size_t i = dot + 1; i < dot + 4 && i < captured.size(); ++i) {
      const auto digit = static_cast<std::uint64_t>(captured[i] - '0');
      if (digit > 9) return moment;
      millis = millis * 10 + digit;
    }
    moment.time_ns += millis * 1'000'000;
  }
  // Neither 0, which means that there is no sequence, nor 1, which is Perfetto's own service.
  moment.sequence = hash_of(fmt::format("{} {} {}", pid, exe, captured)) | 2U;
  return moment;
}

void put_packet(ExportStream& out,
                const Moment& moment,
                Field field,
                const ProtobufMessage& message,
                Names names) {
  ProtobufMessage packet = packet_of(moment);
  if (names == Names::Defined) packet.number(kSequenceFlags, kNeedsNames);
  packet.message(field, message);
  put_message(out, kPacket, packet);
}

ProtobufMessage thread_message(pid_t tid, pid_t pid, std::string_view name) {
  ProtobufMessage thread;
  thread.number(1, static_cast<std::uint64_t>(tid));
  thread.bytes(2, terminal_text(name));
  thread.number(3, static_cast<std::uint64_t>(pid));
  return thread;
}

// The attributes of the process, "service.name=shop", as labels of its track.
void put_labels(ExportStream& out, const Moment& moment) {
  if (moment.resource == nullptr || moment.resource->empty()) return;
  ProtobufMessage process;
  process.number(1, static_cast<std::uint64_t>(moment.pid));
  process.bytes(6, terminal_text(moment.exe));
  for (const Attribute& one : *moment.resource) {
    process.bytes(8, terminal_text(fmt::format("{}={}", one.name, one.value)));
  }
  ProtobufMessage track;
  track.number(1, moment.sequence);
  track.message(3, process);
  put_packet(out, moment, kTrackDescriptor, track);
}

void put_clocks(ExportStream& out, const Moment& moment) {
  constexpr std::uint64_t kTimeOfDay = 1;
  constexpr std::uint64_t kMonotonic = 3;
  constexpr std::uint64_t kMonotonicCoarse = 4;
  constexpr std::uint64_t kSinceBoot = 6;
  ProtobufMessage clocks;
  for (const std::uint64_t id : {kSinceBoot, kTimeOfDay, kMonotonic, kMonotonicCoarse}) {
    ProtobufMessage clock;
    clock.number(1, id);
    clock.number(2, moment.time_ns);
    clocks.message(1, clock);
  }
  put_packet(out, moment, kClockSnapshot, clocks);
}

void put_start(ExportStream& out, const Moment& moment, const ProtobufMessage& threads) {
  ProtobufMessage process;
  process.number(1, static_cast<std::uint64_t>(moment.pid));
  process.bytes(3, terminal_text(moment.exe));
  ProtobufMessage tree;
  tree.message(1, process);
  tree.append(threads);
  put_packet(out, moment, kProcessTree, tree);
  put_labels(out, moment);
}

std::uint64_t Callstacks::text(std::uint32_t field,
                               std::unordered_map<std::string, std::uint64_t>& known,
                               std::string_view text) {
  const auto [at, is_new] = known.try_emplace(std::string(text), known.size() + 1);
  if (is_new) {
    ProtobufMessage message;
    message.number(1, at->second);
    message.bytes(2, terminal_text(text));
    defined_.message(field, message);
  }
  return at->second;
}

// Older readers leave out frames without a mapping, so frames of no module have one, too.
std::uint64_t Callstacks::mapping(std::string_view module) {
  const auto [at, is_new] = mappings_.try_emplace(std::string(module), mappings_.size() + 1);
  if (!is_new) return at->second;
  ProtobufMessage message;
  message.number(1, at->second);
  message.number(5, std::uint64_t{1} << 47);
  message.number(7, text(kMappingPaths, paths_, module));
  defined_.message(kMappings, message);
  return at->second;
}

std::uint64_t Callstacks::frame(const Line& line) {
  std::string key = fmt::format("{} {} ", line.line, line.offset);
  for (const std::string_view part : {line.function, line.file, line.module}) {
    key.append(part).push_back('\0');
  }
  const auto [at, is_new] = frames_.try_emplace(std::move(key), frames_.size() + 1);
  if (!is_new) return at->second;
  ProtobufMessage message;
  message.number(1, at->second);
  message.number(2, text(kFunctionNames, functions_, line.function));
  message.number(3, mapping(line.module));
  message.number(4, line.offset);
  if (!line.file.empty()) message.number(5, text(kSourcePaths, files_, line.file));
  if (line.line != 0) message.number(6, line.line);
  defined_.message(kFrames, message);
  return at->second;
}

std::uint64_t Callstacks::finish_stack() {
  ProtobufMessage message;
  message.number(1, ++stacks_);
  message.append(open_);
  defined_.message(kCallstacks, message);
  open_.clear();
  return stacks_;
}

void Callstacks::fiber(std::uint64_t number, std::string_view name) {
  ProtobufMessage message;
  message.number(1, number);
  message.bytes(2, terminal_text(name));
  message.bytes(3, "fiber");
  defined_.message(kAsyncContexts, message);
}

void Callstacks::put(ExportStream& out, const Moment& moment) {
  ProtobufMessage source;
  source.bytes(1, "heapattach");
  ProtobufMessage defaults;
  defaults.message(100, source);
  ProtobufMessage packet = packet_of(moment);
  packet.number(kSequenceFlags, kIsCleared);
  packet.message(kNames, defined_);
  packet.message(kDefaults, defaults);
  put_message(out, kPacket, packet);
}

}  // namespace heapattach::perfetto
