// Ruby's names, as of release 3.1: those that exist before a program runs, and those of the
// libraries that are installed with Ruby.

#include "report/redact/ruby_names.h"

#include <cstring>

#include "report/redact/library_names.h"
#include "report/redact/words.h"

namespace heapattach {

namespace {

constexpr std::string_view kTypes =
    "ARGF.class ArgumentError Array BasicObject Binding Class ClosedQueueError Comparable "
    "Complex Complex::compatible Dir EOFError Encoding Encoding::CompatibilityError "
    "Encoding::Converter Encoding::ConverterNotFoundError Encoding::InvalidByteSequenceError "
    "Encoding::UndefinedConversionError EncodingError Enumerable Enumerator "
    "Enumerator::ArithmeticSequence Enumerator::Chain Enumerator::Generator Enumerator::Lazy "
    "Enumerator::Producer Enumerator::Yielder Errno Exception FalseClass Fiber FiberError "
    "File File::Constants File::Stat FileTest Float FloatDomainError FrozenError GC "
    "GC::Profiler Hash IO IO::Buffer IO::Buffer::AccessError IO::Buffer::AllocationError "
    "IO::Buffer::InvalidatedError IO::Buffer::LockedError IO::EAGAINWaitReadable "
    "IO::EAGAINWaitWritable IO::EINPROGRESSWaitReadable IO::EINPROGRESSWaitWritable "
    "IO::WaitReadable IO::WaitWritable IOError IndexError Integer Interrupt Kernel KeyError "
    "LoadError LocalJumpError Marshal MatchData Math Math::DomainError Method Module "
    "NameError NameError::message NilClass NoMatchingPatternError NoMatchingPatternKeyError "
    "NoMemoryError NoMethodError NotImplementedError Numeric Object ObjectSpace "
    "ObjectSpace::WeakMap Proc Process Process::GID Process::Status Process::Sys "
    "Process::Tms Process::UID Process::Waiter Ractor Ractor::ClosedError Ractor::Error "
    "Ractor::IsolationError Ractor::MovedError Ractor::MovedObject Ractor::RemoteError "
    "Ractor::UnsafeError Random Random::Base Random::Formatter Range RangeError Rational "
    "Rational::compatible Refinement Regexp RegexpError RubyVM RubyVM::AbstractSyntaxTree "
    "RubyVM::AbstractSyntaxTree::Node RubyVM::InstructionSequence RubyVM::MJIT RubyVM::YJIT "
    "RuntimeError ScriptError SecurityError Signal SignalException StandardError "
    "StopIteration String Struct Symbol SyntaxError SystemCallError SystemExit "
    "SystemStackError Thread Thread::Backtrace Thread::Backtrace::Location "
    "Thread::ConditionVariable Thread::Mutex Thread::Queue Thread::SizedQueue ThreadError "
    "ThreadGroup Time Time::tm TracePoint TrueClass TypeError UnboundMethod "
    "UncaughtThrowError UnicodeNormalize Warning Warning::buffer ZeroDivisionError fatal";

constexpr std::string_view kLibraries =
    "Addrinfo BasicObject BasicSocket Benchmark Benchmark::Tms BigDecimal Bundler CGI CSV CSV::Row "
    "CSV::Table Date DateTime Delegator DidYouMean Digest Digest::Base Digest::Class "
    "Digest::Instance Digest::MD5 Digest::SHA1 Digest::SHA256 Digest::SHA512 ERB ERB::Compiler "
    "Etc ErrorHighlight Fiddle Fiddle::Closure Fiddle::Function Fiddle::Handle Fiddle::Pointer "
    "FileUtils Find Forwardable Gem Gem::Dependency Gem::Platform Gem::Requirement "
    "Gem::Specification Gem::StubSpecification Gem::Version IPAddr IPSocket JSON JSON::Ext "
    "JSON::Ext::Generator JSON::Ext::Generator::State JSON::Ext::Parser JSON::GeneratorError "
    "JSON::ParserError Logger Logger::Formatter Logger::LogDevice Monitor MonitorMixin "
    "MonitorMixin::ConditionVariable Net Net::HTTP Net::HTTPResponse Net::Protocol ObjectSpace "
    "ObjectSpace::InternalObjectWrapper Observable Open3 OpenSSL OpenSSL::SSL "
    "OpenSSL::SSL::SSLContext OpenSSL::SSL::SSLSocket OpenSSL::X509 OpenSSL::X509::Certificate "
    "OpenSSL::X509::Store OpenStruct OptionParser PP PStore Pathname Psych Psych::Parser "
    "RbConfig Resolv Ripper SecureRandom Set Shellwords SimpleDelegator Singleton Socket "
    "Socket::Option SocketError SortedSet StringIO StringScanner TCPServer TCPSocket Tempfile "
    "Timeout Timeout::Error Timeout::ExitException UDPSocket UNIXServer UNIXSocket URI "
    "URI::Generic URI::HTTP URI::HTTPS WeakRef YAML Zlib Zlib::Deflate Zlib::GzipReader "
    "Zlib::GzipWriter Zlib::Inflate";

// Words in the names of types without a class, and beside the names of those with one.
constexpr std::string_view kInternal =
    "imemo env cref svar throw_data ifunc memo ment iseq tmpbuf ast parser_strterm callinfo "
    "callcache constcache iclass internal singleton node zombie moved shape class of VM thread "
    "autoload backtrace binding fiber method mutex proc process trace_object";

constexpr std::string_view kEdges = "class superclass references parent";

constexpr std::string_view kSymbols =
    "vm finalizers machine_context protected global_list end_proc global_tbl symbols "
    "current_thread object_id global_symbols generic_iv stack registers "
    "$! $\" $$ $& $' $* $+ $, $-0 $-F $-I $-W $-a $-d $-i $-l $-p $-v $-w $. $/ $0 $: $; $< $= $> "
    "$? $@ $DEBUG $FILENAME $LOADED_FEATURES $LOAD_PATH $PROGRAM_NAME $VERBOSE $\\ $_ $` $stderr "
    "$stdin $stdout $~";

constexpr int kMostErrors = 200;

// Whether `name` is the class of an errno value.
bool is_system_error(std::string_view name) {
  for (int number = 1; number < kMostErrors; ++number) {
    const char* const one = ::strerrorname_np(number);
    if (one != nullptr && name == one) return true;
  }
  return name == "NOERROR";
}

}  // namespace

bool is_ruby_type(std::string_view path) {
  static const Words types = words_of(kTypes);
  static const Words libraries = words_of(kLibraries);
  static const Words internal = words_of(kInternal);
  constexpr std::string_view kErrors = "Errno::";
  return types.contains(path) || libraries.contains(path) || internal.contains(path) ||
         (path.starts_with(kErrors) && is_system_error(path.substr(kErrors.size())));
}

bool is_ruby_symbol(std::string_view name) {
  static const Words symbols = words_of(kSymbols);
  return symbols.contains(name);
}

bool is_ruby_edge(std::string_view word) {
  static const Words edges = words_of(kEdges);
  return edges.contains(word);
}

}  // namespace heapattach
