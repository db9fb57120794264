#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include <sys/types.h>

#include "attach/base/attribute.h"
#include "report/format/export/protobuf.h"

// The packets of a Perfetto trace, which perfetto.cpp explains: what is the same for a heap, for
// stacks and for a recording of allocations.
namespace heapattach::perfetto {

// A moment of a process, which all packets about it share.
struct Moment {
  pid_t pid = 0;
  std::string_view exe;
  const Attributes* resource = nullptr;  // null: none is known
  std::uint64_t time_ns = 0;             // since 1970
  std::uint32_t sequence = 1;            // tells the packets of several files apart
};

// `captured` is a time in the format of a snapshot's header.
[[nodiscard]] Moment moment_of(pid_t pid, const std::string& exe, const std::string& captured);

// Fields of a packet.
enum Field : std::uint32_t {
  kProcessTree = 2,
  kClockSnapshot = 6,
  kProfilePacket = 37,
  kHeapGraph = 56,
  kTrackDescriptor = 60,
  kPerfSample = 66,
  kStackSample = 135,
};

// Whether a packet needs the names that earlier packets of the moment defined.
enum class Names : std::uint8_t { None, Defined };

// Writes a packet that consists of one message.
void put_packet(ExportStream& out,
                const Moment& moment,
                Field field,
                const ProtobufMessage& message,
                Names names = Names::None);

// Writes what the clocks show, once in a file. All show the time of day, so that moments of several
// files are on one time axis.
void put_clocks(ExportStream& out, const Moment& moment);

// Writes the name of the process, and its labels.
void put_start(ExportStream& out, const Moment& moment, const ProtobufMessage& threads = {});

// The message of a thread in put_start().
[[nodiscard]] ProtobufMessage thread_message(pid_t tid, pid_t pid, std::string_view name);

// Frames and stacks, each of which gets a number from 1 on. Texts are stored once.
class Callstacks {
 public:
  struct Line {
    std::string_view function;
    std::string_view file;
    std::uint32_t line = 0;
    std::string_view module;
    std::uint64_t offset = 0;  // in its file
  };
  std::uint64_t frame(const Line& line);
  // Adds a frame to the stack that is being made, the outermost first.
  void push(std::uint64_t frame) { open_.number(kFrame, frame); }
  std::uint64_t finish_stack();
  // Adds a fiber, of which stacks are samples.
  void fiber(std::uint64_t number, std::string_view name);

  // Writes all of them, as the first packet with names.
  void put(ExportStream& out, const Moment& moment);

 private:
  // One field for each frame: Perfetto's own reader ignores a packed one here.
  static constexpr std::uint32_t kFrame = 2;

  std::uint64_t text(std::uint32_t field,
                     std::unordered_map<std::string, std::uint64_t>& known,
                     std::string_view text);
  std::uint64_t mapping(std::string_view module);

  ProtobufMessage defined_;
  ProtobufMessage open_;
  std::unordered_map<std::string, std::uint64_t> functions_, files_, paths_, mappings_, frames_;
  std::uint64_t stacks_ = 0;
};

}  // namespace heapattach::perfetto
