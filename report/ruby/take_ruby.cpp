#include "report/ruby/take_ruby.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "inject/headroom.h"
#include "report/call/call_ending.h"
#include "report/call/ruby_call.h"
#include "report/collect/header.h"
#include "report/ruby/ruby_dump.h"
#include "report/ruby/ruby_target.h"
#include "symbols/ruby/heap_kind.h"

namespace heapattach {

using snapshot::DumpedOptions;

namespace {

// The file name of our code in the copy. Objects that were allocated there are not the process's.
constexpr std::string_view kOwnFile = "heapattach";
// An error that every other copy would report, too.
constexpr std::string_view kNoLibrary = "Ruby lacks its objspace library";
// A dump takes about ten times the memory of the objects.
constexpr std::uint64_t kMostTimes = 64;
constexpr std::uint64_t kLeastBytes = std::uint64_t{256} << 20;

// Writes the names of references that a dump lacks: constants and variables of modules, globals,
// and the instance variables of objects. It calls no method of the program's: it skips constants
// that would be loaded first, and methods that the program may have redefined. Reading a global
// variable that an extension defines with a getter calls the getter, but only in the copy.
//
// A loop over all objects takes four times as long if its allocations are traced. So it runs
// untraced, in a fiber: once the fiber has ended, no stack references what the loop has allocated.
// The fiber is a blocking one, because any other asks the program's scheduler before it writes. A
// line is built as bytes, because names with different encodings do not fit together in one String.
constexpr std::string_view kCommonCode = R"(
  # A method of the core, also if the program has prepended another to it, or has replaced it and
  # kept it under another name.
  is_own = lambda do |method, owner|
    place = method.source_location
    owner.equal?(method.owner) && (place.nil? || place[0].start_with?("<internal:"))
  end
  own = lambda do |owner, name|
    method = owner.instance_method(name)
    method = method.super_method until method.nil? || is_own.(method, owner)
    next method if method
    kept = (owner.instance_methods(false) + owner.private_instance_methods(false)).find do |key|
      one = owner.instance_method(key)
      one.original_name == name && is_own.(one, owner)
    end
    kept && owner.instance_method(kept)
  end
  original = lambda { |owner, name| own.(owner, name) || owner.instance_method(name) }
  is_a = own.(Kernel, :is_a?) || own.(Kernel, :kind_of?)
  of_module = own.(Module, :===)
  one_of =
    if is_a || !of_module
      is_a ||= Kernel.instance_method(:is_a?)
      lambda { |object, kinds| kinds.any? { |kind| is_a.bind_call(object, kind) } }
    else
      lambda { |object, kinds| kinds.any? { |kind| of_module.bind_call(kind, object) } }
    end
  any_to_s = original.(Kernel, :to_s)
  address = lambda { |object| any_to_s.bind_call(object)[/0x(\h+)>\z/, 1] }
  # They are no objects, or their values are shown instead.
  plain_kinds = [Symbol, Float, NilClass, TrueClass, FalseClass]
  integer = [Integer]
  least = -(2**62)
  is_immediate = lambda do |object|
    next object >= least && object < -least if one_of.(object, integer)
    one_of.(object, plain_kinds)
  end
  symbol_text = original.(Symbol, :to_s)
  text_of = lambda { |key| one_of.(key, plain_kinds) ? symbol_text.bind_call(key) : key }
  join = lambda do |parts|
    all = nil
    parts.each { |part| all = all ? "#{all} #{part}" : part }
    all
  end
  untraced = lambda do |work|
    fiber = RUBY_VERSION < "3.0" ? Fiber.new(&work) : Fiber.new(blocking: true, &work)
    ObjectSpace.trace_object_allocations_stop
    fiber.resume
    ObjectSpace.trace_object_allocations_start
  end
  is_odd = lambda { |text| text_of.(text).b.match?(/["\\\\\x00-\x1f]/n) }
)";
constexpr std::string_view kNamesCode = R"(
  names_of = original.(Kernel, :instance_variables)
  get = original.(Kernel, :instance_variable_get)
  name = lambda do |from, to, text|
    next if is_immediate.(to) || is_odd.(text)
    file.write("{\"type\":\"CONST\",\"address\":\"0x#{from}\",\"class\":\"0x#{address.(to)}\"," +
               "\"name\":\"#{text_of.(text)}\"}\n")
  end
  constants = original.(Module, :constants)
  autoload_of = original.(Module, :autoload?)
  const_get = original.(Module, :const_get)
  class_variables = original.(Module, :class_variables)
  class_variable_get = original.(Module, :class_variable_get)
  ObjectSpace.each_object(Module) do |one|
    from = address.(one)
    constants.bind_call(one, false).each do |constant|
      next if autoload_of.bind_call(one, constant, false)
      name.(from, const_get.bind_call(one, constant, false), constant)
    end
    names_of.bind_call(one).each { |key| name.(from, get.bind_call(one, key), key) }
    class_variables.bind_call(one, false).each do |key|
      name.(from, class_variable_get.bind_call(one, key), key)
    end
  rescue StandardError, ScriptError
    next
  end
  lines = String.new
  shown = Hash.new { |all, key| all[key] = is_odd.(key) ? "?" : text_of.(key).b }
  modules = [Module]
  # They have other references, too.
  more_than_variables = [String, Array, Hash, Struct, Range, Proc, Regexp, MatchData, IO, Method,
                         Time, Thread]
  name_variables = lambda do |one|
    keys = names_of.bind_call(one)
    next if keys.empty?
    next if one_of.(one, modules)
    if one_of.(one, more_than_variables)
      from = address.(one)
      keys.each { |key| name.(from, get.bind_call(one, key), key) }
      next
    end
    keys.reject! { |key| is_immediate.(get.bind_call(one, key)) }
    next if keys.empty?
    from = any_to_s.bind_call(one).byteslice(-17, 16)
    line = "{\"type\":\"IVARS\",\"address\":\"0x#{from}\",\"name\":\"#{join.(keys.map { |key| shown[key] })}\"}\n"
    lines << line.force_encoding(Encoding::BINARY)
    next if lines.bytesize < 100_000
    file.write(lines)
    lines.clear
  rescue StandardError, ScriptError
    next
  end
  # What Ruby keeps of a first call is traced.
  [Object.new, []].each do |example|
    Kernel.instance_method(:instance_variable_set).bind_call(example, :@heapattach, "")
    name_variables.(example)
  end
  untraced.(proc { ObjectSpace.each_object(BasicObject, &name_variables) })
  file.write(lines)
  global_variables.each do |key|
    # To read $FILENAME opens a file.
    next if key == :$FILENAME || is_odd.(key) || !key.match?(/\A\$[[:alpha:]_][[:alnum:]_]*\z/)
    value = TOPLEVEL_BINDING.eval(key.to_s)
    next if is_immediate.(value)
    file.write("{\"type\":\"GLOBAL\",\"class\":\"0x#{address.(value)}\",\"name\":\"#{key}\"}\n")
  rescue StandardError, ScriptError
    next
  end
)";

// Writes the fields of objects: variables, members of Structs, and simple keys of Hashes. A field
// that references an object is written with its name, unless kNamesCode has written it already. Any
// other field is written with its value.
constexpr std::string_view kValuesCode = R"(
  bit_length = own.(Integer, :bit_length)
  digits_of = original.(Integer, :to_s)
  bits = lambda do |value|
    next bit_length.bind_call(value) if bit_length
    digits_of.bind_call(value < 0 ? ~value : value, 2).bytesize
  end
  symbols = [Symbol]
  floats = [Float]
  word = lambda do |value|
    next "nil" if nil.equal?(value)
    next "true" if true.equal?(value)
    next "false" if false.equal?(value)
    if one_of.(value, integer)
      bits.(value) < 10_000 ? digits_of.bind_call(value) : "<#{bits.(value)}_bits>"
    elsif one_of.(value, floats)
      "#{value}"
    elsif one_of.(value, symbols)
      text = symbol_text.bind_call(value)
      /\A[A-Za-z0-9_.:?!-]{1,200}\z/.match?(text) ? ":#{text}" : ";#{text.unpack1("H*")}"
    end
  end
  fields = lambda do |one, pairs, named|
    from = address.(one)
    words = pairs.filter_map do |key, value|
      next if is_odd.(key)
      text = word.(value)
      next "#{text_of.(key)}=#{text}" if text
      name.(from, value, key) unless named
      nil
    end
    next if words.empty?
    file.write("{\"type\":\"VALUES\",\"address\":\"0x#{from}\",\"name\":\"#{join.(words)}\"}\n")
  end
  strings = [String]
  key_of = lambda do |key|
    if one_of.(key, integer)
      bits.(key) < 64 ? "[#{digits_of.bind_call(key)}]" : nil
    elsif one_of.(key, symbols)
      text = symbol_text.bind_call(key)
      /\A\w{1,60}[?!]?\z/.match?(text) ? "[:#{text}]" : nil
    elsif one_of.(key, strings)
      /\A[\w.\/@:-]{1,60}\z/.match?(key) ? "[\\\\u0022#{key}\\\\u0022]" : nil
    end
  end
  most_keys = 1000
  member_name = /\A[[:alpha:]_][[:alnum:]_]*[?!]?\z/
  struct_pairs = original.(Struct, :each_pair)
  hash_pairs = original.(Hash, :each_pair)
  size = original.(Hash, :size)
  data_pairs = RUBY_VERSION >= "3.2" ? original.(Data, :to_h) : nil
  is_member = proc { |key, _value| member_name.match?(text_of.(key)) }
  structs = [Struct]
  hashes = [Hash]
  datas = data_pairs ? [Data] : []
  write_fields = lambda do |one|
    keys = names_of.bind_call(one)
    unless keys.empty?
      next if one_of.(one, modules)
      variables = keys.map { |key| [key, get.bind_call(one, key)] }
      is_more = one_of.(one, more_than_variables)
      fields.(one, variables, is_more)
      next unless is_more || one_of.(one, datas)
    end
    if one_of.(one, structs)
      fields.(one, struct_pairs.bind_call(one).select(&is_member), false)
    elsif one_of.(one, hashes)
      next if size.bind_call(one) > most_keys
      pairs = hash_pairs.bind_call(one).filter_map do |key, value|
        shown = key_of.(key)
        [shown, value] if shown
      end
      fields.(one, pairs, false)
    elsif one_of.(one, datas)
      fields.(one, data_pairs.bind_call(one).select(&is_member), false)
    end
  rescue StandardError, ScriptError
    next
  end
  untraced.(proc { ObjectSpace.each_object(BasicObject, &write_fields) })
)";

// Writes the beginnings of texts, which a dump lacks if Strings share their bytes or are not ASCII.
// No method shows which Strings share their bytes, so every ASCII String that is long enough for
// that is written. Texts of plain letters are written as they are, all others in hexadecimal.
constexpr std::string_view kTextsCode = R"(
  bytesize = original.(String, :bytesize)
  is_ascii = original.(String, :ascii_only?)
  is_valid = original.(String, :valid_encoding?)
  encoding = original.(String, :encoding)
  byteslice = original.(String, :byteslice)
  digits = original.(String, :unpack1)
  write_text = lambda do |one|
    is_plain = is_ascii.bind_call(one)
    bytes = bytesize.bind_call(one)
    next if is_plain && bytes < 24
    next unless is_plain || (encoding.bind_call(one) == Encoding::UTF_8 && is_valid.bind_call(one))
    part = byteslice.bind_call(one, 0, most_text)
    is_plain &&= /\A[ !#-\[\]-~]*\z/.match?(part)
    text = is_plain ? ":#{part}" : ";#{digits.bind_call(part, "H*")}"
    file.write("{\"type\":\"TEXT\",\"address\":\"0x#{address.(one)}\",\"length\":#{bytes}," +
               "\"name\":\"#{text}\"}\n")
  rescue StandardError, ScriptError
    next
  end
  untraced.(proc { ObjectSpace.each_object(String, &write_text) })
)";

// Until 3.0, the C library writes the dump, at the latest when `file` is closed, after Ruby's own
// output. Ruby's own `require` takes no locks of rubygems, which another thread may hold. Nearly
// all of our code is compiled while allocations are traced, so that the objects of its code are
// known to be ours. No object may move, because lines name objects by their addresses.
std::string dump_code(int descriptor, const DumpedOptions& options) {
  std::string more(kCommonCode);
  if (options.with_edges) more += kNamesCode;
  if (options.with_edges && options.with_values) more += kValuesCode;
  if (options.text_bytes != 0) {
    constexpr std::size_t kMost = std::size_t{1} << 40;
    more += fmt::format("  most_text = {}\n", std::min(options.text_bytes, kMost));
    more += kTextsCode;
  }
  return fmt::format(
      R"(TOPLEVEL_BINDING.eval('
->(code) do
  GC.auto_compact = false if GC.respond_to?(:auto_compact=)
  GC.stress = false
  unless ObjectSpace.respond_to?(:dump_all)
    own = Object.private_method_defined?(:gem_original_require) ? :gem_original_require : :require
    TOPLEVEL_BINDING.receiver.send(own, "objspace")
  end
  traced = ObjectSpace.allocation_sourcefile(Object.new)
  {4}
  ObjectSpace.trace_object_allocations_start
  TOPLEVEL_BINDING.eval(code, "{0}", 1).call(traced)
rescue Exception => error
  STDERR.write(LoadError === error ? "{1}: " : "Ruby says: ", error.message)
  STDERR.flush
end', "{0}", 1).call('
->(traced) do
  last = IO.for_fd({2}, "wb")
  file = last.dup
  file.write("{{\"type\":\"TRACED\"}}\n") if traced
{3}
  file.flush
  GC.start
  GC.disable
  ObjectSpace.dump_all(output: file)
  file.close
  last.write("{{\"type\":\"END\"}}\n")
  last.close
end'))",
      kOwnFile, kNoLibrary, descriptor, more,
      options.by_line ? "" : "ObjectSpace.trace_object_allocations_clear unless traced");
}

ruby::DumpOptions dump_options(const DumpedOptions& options) {
  ruby::DumpOptions what;
  what.with_edges = options.with_edges;
  what.text_bytes = options.text_bytes;
  what.by_line = options.by_line;
  what.own_file = kOwnFile;
  what.deadline = options.request.deadline;
  what.note = options.request.on_step;
  return what;
}

void fill_header(const ruby::Interpreter& ruby,
                 const RubyAnswer& answer,
                 snapshot::Snapshot& snapshot) {
  snapshot::Header& header = snapshot.header;
  header.source = "clone";
  header.runtime = "ruby";
  header.pause_ms = answer.pause.count();
  snapshot::Heap& heap = snapshot.heaps.emplace_back();
  heap.name = ruby::kHeapKind.name;
  heap.version = ruby.version;
  heap.layout = "ObjectSpace.dump_all";
}

// The most bytes that a copy of the process may write.
Result<std::uint64_t> most_bytes(const Process& process) {
  return kLeastBytes + kMostTimes * HA_TRY(clone_facts(process)).anonymous_bytes;
}

RubyProcess copied(const RubyTarget& target) {
  return {*target.process, target.memory, target.ruby, target.machine ? &*target.machine : nullptr};
}

std::string in_hex(std::string_view text) {
  std::string digits;
  for (const char letter : text) {
    digits += fmt::format("{:02x}", static_cast<unsigned char>(letter));
  }
  return digits;
}

// Writes "=" and the value, or "!" and the exception with the place where it was raised, and then a
// dot.
std::string evaluating_code(const std::string& code, int descriptor) {
  return fmt::format(
      R"(TOPLEVEL_BINDING.eval('
begin
  code = ["{}"].pack("H*").force_encoding("UTF-8")
  text = begin
    "=" + TOPLEVEL_BINDING.eval(code, "--ruby", 1).inspect
  rescue Exception => error
    "!" + error.full_message(highlight: false, order: :top)
  end
  $stdout.flush
  $stderr.flush
  IO.open({}, "wb") {{ |file| file.write(text, ".") }}
rescue Exception => error
  STDERR.write("Ruby says: ", error.message)
  STDERR.flush
end', "{}", 1))",
      in_hex(code), descriptor, kOwnFile);
}

// Describes how the user's code ended its copy, and returns whether another copy would end the same
// way. A copy that crashed, was killed or waits for a lock may succeed at another moment.
bool explain_end(const CallOptions& options,
                 const Modules& modules,
                 const CallOutcome& outcome,
                 CallReport& report) {
  using End = CallOutcome::End;
  if (outcome.end == End::Crashed || outcome.end == End::Killed) return false;
  CallReport ending;
  ending.function = report.function;
  explain_ending(options, modules, outcome, {}, ending);
  if (ending.is_timeout && waits_for_lock(ending.frames)) return false;
  report = std::move(ending);
  return true;
}

// Takes a snapshot from the dump of a copy.
Result<snapshot::Snapshot> take_by_copy(const RubyTarget& target,
                                        const DumpedOptions& options,
                                        bool has_alternative = false) {
  DumpReader reader(dump_options(options), HA_TRY(most_bytes(*target.process)));
  RubyReceiver receiver;
  receiver.begin = [&] { return reader.begin(); };
  receiver.take = [&](std::string_view bytes) { return reader.take(bytes); };
  receiver.end = [&] { return reader.end(); };
  receiver.has_alternative = has_alternative;
  receiver.is_final = [](std::string_view errors) { return errors.starts_with(kNoLibrary); };
  const RubyCode code = [&](int descriptor) { return dump_code(descriptor, options); };
  const auto captured = std::chrono::system_clock::now();
  const auto answer = run_ruby(CallOptions{options.request}, copied(target), code, receiver);
  if (!answer) {
    const bool is_of_dump = answer.error().kind == ErrorKind::Os;  // the worker took no more
    return is_of_dump ? reader.failure().value_or(answer.error()) : answer.error();
  }
  auto snapshot = HA_TRY(std::move(reader).result());
  snapshot::fill_origin(target, snapshot.header);
  fill_header(target.ruby, *answer, snapshot);
  snapshot.header.captured = snapshot::moment_text(captured);
  options.request.note(fmt::format(
      "Ruby {}: after GC.start, a copy of the process dumped its objects as thread {}; {} copies; "
      "the process was held for {:.1f} ms",
      target.ruby.version, answer->thread, answer->attempts, answer->pause.count()));
  return snapshot;
}

// Takes a snapshot by a copy, but leaves time to read the heap from outside: a third of what is
// left, at most kEnough.
Result<snapshot::Snapshot> take_by_copy_in_time(const RubyTarget& target,
                                                const DumpedOptions& options) {
  constexpr std::chrono::steady_clock::duration kEnough = std::chrono::seconds(10);
  Request earlier = options.request;
  const auto left = earlier.deadline.at - std::chrono::steady_clock::now();
  earlier.deadline.at -= std::min(left / 3, kEnough);
  return take_by_copy(target,
                      {.request = earlier,
                       .with_edges = options.with_edges,
                       .with_values = options.with_values,
                       .text_bytes = options.text_bytes,
                       .by_line = options.by_line},
                      true);
}

// Adds the reason why reading from outside failed to the reason why no copy worked.
Error nor_from_outside(Error of_copies, const Error& outside) {
  of_copies.reason += "; from outside: " + outside.message();
  if (of_copies.kind == ErrorKind::Impossible) of_copies.kind = outside.kind;
  return of_copies;
}

Result<snapshot::Snapshot> take_from(const RubyTarget& target, const DumpedOptions& options) {
  if (options.while_it_runs && !target.core) {
    return Error{ErrorKind::Unsupported, "a Ruby heap cannot be read while the process runs"}
        .advise("--snapshot freeze, which stops it while its heap is copied");
  }
  if (target.core || options.from_outside) return read_ruby_from_outside(target, options);
  const bool may_read = can_read_ruby_from_outside(target, options);
  auto dumped = may_read ? take_by_copy_in_time(target, options) : take_by_copy(target, options);
  if (dumped) return dumped;
  const ErrorKind kind = dumped.error().kind;
  constexpr ErrorKind kOfCopies[]{ErrorKind::Timeout, ErrorKind::Impossible, ErrorKind::Malformed};
  if (std::ranges::find(kOfCopies, kind) == std::end(kOfCopies)) return dumped;
  if (!target.machine) {
    return nor_from_outside(std::move(dumped).error(), {ErrorKind::Unsupported, target.no_machine});
  }
  if (!may_read) return dumped;
  options.request.note(dumped.error().message() + ": the heap is read from outside instead");
  auto read = read_ruby_from_outside(target, options);
  if (!read) return nor_from_outside(std::move(dumped).error(), read.error());
  read->reason += "; " + dumped.error().message();
  return read;
}

Result<std::optional<snapshot::Snapshot>> take_if_ruby(const DumpedOptions& options) {
  const auto target = HA_TRY(RubyTarget::open(options.request));
  if (!target) return std::optional<snapshot::Snapshot>();
  return std::optional(HA_TRY(take_from(*target, options)));
}

bool runs_ruby(const Modules& modules, const MemoryReader& memory) {
  return ruby::find_interpreter(modules, memory).has_value();
}

}  // namespace

constinit const snapshot::DumpedHeap kDumpedByRuby{
    .kind = ruby::kHeapKind, .is_in = runs_ruby, .take = take_if_ruby, .examine = examine_ruby};

Result<CallReport> evaluate_ruby(const CallOptions& options, const std::string& ruby_code) {
  const auto target = HA_TRY(RubyTarget::open(options.request));
  if (!target) {
    return Error{ErrorKind::Unsupported,
                 fmt::format("process {} does not run Ruby 2.7 or later", options.request.pid)};
  }
  const std::uint64_t most = HA_TRY(most_bytes(*target->process));
  std::string text;
  RubyReceiver receiver;
  receiver.begin = [&]() -> Result<void> {
    text.clear();
    return {};
  };
  receiver.take = [&](std::string_view bytes) -> Result<void> {
    text += bytes;
    if (text.size() <= most) return {};
    return Error{ErrorKind::Impossible, fmt::format("the copy wrote more than {} MiB", most >> 20)};
  };
  receiver.end = [&] { return text.ends_with('.'); };
  CallReport report;
  report.function = "the code";
  receiver.takes_end = [&](const CallOutcome& outcome) {
    return explain_end(options, target->modules, outcome, report);
  };
  const RubyAnswer answer = HA_TRY(run_ruby(
      options, copied(*target),
      [&](int descriptor) { return evaluating_code(ruby_code, descriptor); }, receiver));
  report.output = answer.output;
  report.errors = answer.errors;
  if (answer.has_ended_copy) return report;
  const std::string result = text.substr(1, text.size() - 2);
  if (text.front() == '=') {
    report.value = result;
  } else {
    report.ending = result.substr(0, result.find_last_not_of('\n') + 1);
  }
  return report;
}

}  // namespace heapattach
