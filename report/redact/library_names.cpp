// The lists. Those of Crystal are the names that its standard library declares, as of release 1.6.

#include "report/redact/library_names.h"

#include <algorithm>
#include <unordered_set>

namespace heapattach {

namespace {

using Words = std::unordered_set<std::string_view>;

Words words_of(std::string_view text) {
  Words words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.insert(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// At the top, and below.
constexpr std::string_view kCrystal =
    "ArgumentError Array Atomic Base64 Benchmark BigDecimal BigFloat BigInt BigRational BitArray "
    "Bool Box Bytes CSV Channel Char Class Colorize Comparable Complex Compress Crypto Crystal "
    "Deprecated Deque Digest Dir DivisionByZeroError ECR ENV Enum Enumerable Errno Exception "
    "Experimental Fiber File FileUtils Flags Float Float32 Float64 GC HTML HTTP Hash INI IO "
    "IPSocket IndexError Indexable Int Int128 Int16 Int32 Int64 Int8 Intrinsics "
    "InvalidBigDecimalException InvalidByteSequenceError Iterable Iterator JSON KeyError "
    "LEBReader LLVM Levenshtein LibC LibCrypto LibCrystalMain LibEvent2 LibGC LibGMP LibIconv "
    "LibIntrinsics LibM LibPCRE LibSSL LibUnwind LibWasi LibXML LibYAML LibZ Link Log MIME Math "
    "Mutex NamedTuple Nil NilAssertionError NotImplementedError Number OAuth OAuth2 Object "
    "OpenSSL OptionParser OverflowError Path Pointer PrettyPrint Proc Process Random Range "
    "Reference Regex RuntimeError SemanticVersion Set Signal Slice Socket Spec StaticArray "
    "Steppable String StringPool StringScanner Struct Symbol Syscall System SystemError TCPServer "
    "TCPSocket Termios Thread Time Tuple TypeCastError UDPSocket UInt128 UInt16 UInt32 UInt64 "
    "UInt8 UNIXServer UNIXSocket URI UUID Unicode Union VaList Value WasiError WeakRef WinError "
    "XML YAML";
constexpr std::string_view kWithinCrystal =
    "ALPNCallback Abbrev AccessDeniedError AccessToken Accumulate AccumulateInit Accumulator "
    "Action Address Addrinfo Adler32 Algorithm Alias AliasEvent AllocFunc Alone "
    "AlreadyExistsError Any Appender ArrayConverter ArrayState AsyncDispatcher AtExitHandlers "
    "Attr Attribute AttributeSelection AttributeType Attributes AuthScheme AuthorizationHeader "
    "Backend BadPatternError Base BaseIterator BaudRate Bcrypt Bearer BigEndian "
    "BinaryPrefixFormat BindError Binding Bio BioMethod BioMethodCallbackCtrl BioMethodCreate "
    "BioMethodCtrl BioMethodDestroy BioMethodGets BioMethodPuts BioMethodRead BioMethodReadOld "
    "BioMethodWrite BioMethodWriteOld BitcntT Blowfish BodyType Breakable BroadcastBackend "
    "Buffered Builder ByteFormat ByteIterator Bytef COFFReader CRC32 CachedPowers CallStack "
    "Callback CarrierUInt CartesianProductIteratorN CartesianProductIteratorT CaseOptions "
    "CertVerifyCallback Certificate Chain ChainsAll CharIterator ChecksumReader ChecksumWriter "
    "ChildIterator Chunk ChunkedContent Cipher CipherFlags ClassMethods Client ClientError "
    "CloseCode ClosedError Code Color Color256 ColorANSI ColorRGB CombinationIterator CompactMap "
    "CompressHandler CompressIO CompressionMethod ConditionVariable Configuration ConnectError "
    "Cons ConsTuple ConstantDirectory ConstantEntry Consumer Content Context ControlBlock "
    "ControlMode Cookie Cookies Core CpuType Cycle CycleN DWARF DayOfWeek Decoder Deflate "
    "Delimited DeliveryState DigestMode DirEnt DirHandle DirectDispatcher DirectoriesOnly "
    "DirectoryListing DirectoryMatch DispatchMode Dispatcher Div DiyFP DnsBase "
    "DnsGetAddrinfoCallback Doc Document DocumentEndEvent DocumentEndState DocumentStartEvent "
    "DocumentStartState Double DowntoIterator Dragonbox Drop ELF EOFError Emitter EmptyError "
    "Encoder Encoding EncodingOptions EndOfRequest Endianness EntriesChecker Entry EntryIterator "
    "EntryMatch Env EpochConverter EpochMillisConverter Error ErrorHandler ErrorLevel ErrorType "
    "Event EventData EventFlags EventKind EventLoop EventLoopFlags Evented EvutilSocketT "
    "ExecRecursive ExecRecursiveClone ExecStdio Extension FailSafe Family FamilyT Fd FdFlags "
    "FiberChannel Field FileDescriptor FileEntry FileInfo FileMetadata FileSize FileType "
    "FinalizedError Finalizer Finder First FixedLengthContent Flag FlagValue FlatMap Flatten "
    "FlattenHelper Flg FloatingTimeConversionError Flush FormData Format Formatter FreeFunc "
    "FromJson GenericErrorFunc GetAddrInfoRequest Globber Grapheme GraphemeIterator Grisu3 Group "
    "GroupQueue Gzip HMAC HTMLParserOptions Handle Handler HandlerProc Hangul HashValueConverter "
    "Hasher Header HeaderLine Headers Hexdump HostnameValidation INI IOBackend IOBased IPAddress "
    "ISAAC Iconv Ident Impl ImplInfoMethods InGroupsOf IndexIterator Info InputCloseCallback "
    "InputMode InputReadCallback Installation IntPrimitive IntPrimitiveSigned "
    "IntPrimitiveUnsigned Interpreter InvalidLocationNameError InvalidOption InvalidTZDataError "
    "InvalidTimezoneOffsetError ItemIterator IteratorWrapper Job Key KeyIterator Kind Klass "
    "LNCTFormat Lexer LibraryArchive LineControl LineIterator LineNumbers LinkedList LittleEndian "
    "LoadCommand LocalMode Location LogHandler Long LongLong LookupFlags LooseReceiveAction MD5 "
    "MD5Context Mac MachO Machine MalformedCSVError Map Mapping MappingStartEvent MappingStyle "
    "Mark MatchData MediaType Memory MemoryBackend Metadata MissingOption Mode Modes MonthSpan "
    "MpExp MpLimb MultiWriter Multipart Mutable Name Namespace NetworkEndian Nlist64 Node "
    "NodeCommon NodeSet Nodes NormalizationForm NotFoundError NotReady ObjectExtensions "
    "ObjectStackKind ObjectState OnceState Opcode OpenFlags Ops Options Output OutputBuffer "
    "OutputCloseCallback OutputMode OutputWriteCallback Overlapped OverlappedOperation PCG32 "
    "PReader PacketInfo Params ParseContext ParseException Parser ParserOptions ParserSeverity "
    "Part PartIterator Password Pattern PatternType Permissions PermutationIterator "
    "PointerLinkedList Power Prerelease Prestat PrestatDir PrestatTag PrestatUnion Primitive "
    "Printer ProcFormatter ProfStats Property Protection Protocol PullParser Punycode "
    "QuickCheckResult Quoting RWLock RawConverter ReadHandler Reader ReasonCode Receiver "
    "RecursiveDirectories Redirect Reflect Register Registry Reject RepeatedCombinationIterator "
    "RepeatedFrame Request RequestLine RequestProcessor RequestToken Response Result "
    "ReverseItemIterator ReverseIterator Rights RootDirectory RoundingMode Row RowIterator SChar "
    "SHA1 SHA256 SHA512 SSL SSLCtrl SSLError SSLFileType SameSite SaveOptions Scalar ScalarEvent "
    "ScalarStyle Scheduler Schema Section64 SectionHeader Secure Seek Segment64 Select "
    "SelectAction SelectContext SelectContextSharedState SelectState SelectType SendAction Sender "
    "SenderReceiverCloseAction Sequence SequenceStartEvent SequenceStyle Serializable "
    "SerializableError Server Session Severity Short SignalChildHandler Signature Signed "
    "SignedSignificand SignedWord Singleton SingletonProc Size SizeT Sized Skip SkipWhile "
    "SliceAfter SliceBefore SliceWhen Span SpinLock Stab StabEntry StackBase StackContext "
    "StackPool Stapled StartState State StaticFileHandler StaticFormatter Stats Status Stdio Step "
    "StepIterator Stop Strategy StreamIO StreamStartEvent Strict StrictReceiveAction StringBased "
    "Strings StructuredErrorFunc Subtle Symtab SyncDispatcher SyntaxHighlighter SystemEndian "
    "TLSContext TLSExt TagDirective TakeWhile Tap Text TextReaderErrorFunc ThreadHandle "
    "ThreadLocalValue TimeoutAction TimeoutError TimesIterator Tms ToUnsignedInfo Token TokenType "
    "Type UChar UI UInt ULong ULongLong UNIXAddress UShort Uniq UnknownLengthContent Unmapped "
    "Unsigned UnsupportedError UptoIterator UseDefault User ValueConverter ValueIterator Variant "
    "VerifyCallback VerifyMode Version VersionDirective VisualStudio WUInt WarnProc Wasi "
    "WebSocket WebSocketHandler WindowsRegistry WindowsSDK WithIndex WithInstance WithObject Word "
    "WriteHandler Writer X509 X509VerifyFlags X509VerifyParam XPathContext XPathObject "
    "XPathObjectType ZStream Zip Zlib Zone ZoneTransition";

// Words of C and C++, and what their headers declare at the top.
constexpr std::string_view kPlain =
    "auto bool char char16_t char32_t char8_t class const decltype double enum false float int "
    "long "
    "nullptr operator restrict short signed sizeof struct true typename union unsigned void "
    "volatile "
    "wchar_t std "
    "DIR FILE addrinfo clock_t dirent div_t fpos_t gid_t int16_t int32_t int64_t int8_t intmax_t "
    "intptr_t iovec jmp_buf max_align_t mbstate_t mode_t msghdr nullptr_t off_t pid_t "
    "pthread_attr_t "
    "pthread_cond_t pthread_mutex_t pthread_t ptrdiff_t sigaction siginfo_t sigset_t size_t "
    "sockaddr "
    "sockaddr_in sockaddr_in6 sockaddr_un socklen_t ssize_t stat time_t timespec timeval tm "
    "ucontext_t uid_t uint16_t uint32_t uint64_t uint8_t uintmax_t uintptr_t va_list wint_t "
    "NULL Bool Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Float32 Float64";

// Of Array, Hash, String, Fiber and their like.
constexpr std::string_view kFields =
    "block buffer bytesize c capacity cause compare_by_identity context current data deleted_count "
    "end entries exclusive fd fiber first hash head indices indices_bytesize indices_size_pow2 io "
    "key "
    "last length list mutex next offset_to_buffer previous proc queue regs resume_event size stack "
    "stack_bottom stack_top start stop tail value";

// Without ".so" and versions.
constexpr std::string_view kFiles =
    "[vdso] linux-vdso ld ld-linux-x86-64 libatomic libc libcrypto libdl libevent libevent_core "
    "libevent_extra libevent_pthreads libgc libgcc_s libgccpp libgmp libgmpxx libiconv liblzma "
    "libm "
    "libpcre libpcre2 libpthread librt libssl libstdc++ libunwind libxml2 libyaml libz";

bool is_reserved(std::string_view name) {
  return name.starts_with("__") || name.starts_with("_M_") || name.starts_with("GC_");
}

bool is_crystal(std::string_view path) {
  static const Words top = words_of(kCrystal);
  static const Words within = words_of(kWithinCrystal);
  for (bool is_first = true;; is_first = false) {
    const std::size_t end = std::min(path.find("::"), path.size());
    const std::string_view part = path.substr(0, end);
    const bool is_known = top.contains(part) || (!is_first && within.contains(part));
    if (!is_known) return false;
    if (end == path.size()) return true;
    path.remove_prefix(end + 2);
  }
}

}  // namespace

bool is_library_type(std::string_view path, bool is_crystal_program) {
  static const Words plain = words_of(kPlain);
  for (const std::string_view space : {"std::", "__gnu_cxx::", "__cxxabiv1::"}) {
    if (path.starts_with(space)) return true;
  }
  const bool is_of_libc = path.starts_with("_IO_") || path.starts_with("_G_");
  return plain.contains(path) || is_reserved(path) || is_of_libc ||
         (is_crystal_program && is_crystal(path));
}

bool is_library_field(std::string_view name) {
  static const Words names = words_of(kFields);
  return names.contains(name) || is_reserved(name);
}

bool is_library_symbol(std::string_view name, bool is_crystal_program) {
  return name.starts_with("GC_") || name.starts_with("__") ||
         (is_crystal_program && is_crystal(name));
}

bool is_library_file(std::string_view path) {
  static const Words names = words_of(kFiles);
  std::string_view name = path.substr(path.rfind('/') + 1);
  name = name.substr(0, name.find(".so"));
  // As in libc-2.31, libyaml-0.
  const std::size_t version = name.find_last_not_of("0123456789.");
  const bool has_version = version != std::string_view::npos && name[version] == '-';
  return names.contains(name) || (has_version && names.contains(name.substr(0, version)));
}

}  // namespace heapattach
