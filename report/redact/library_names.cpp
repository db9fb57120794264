// The names of Crystal are those that its standard library declares, as of release 1.6.

#include "report/redact/library_names.h"

#include <algorithm>

#include "attach/arch/processor_names.h"
#include "report/redact/ruby_names.h"
#include "report/redact/words.h"

namespace heapattach {

namespace {

// Crystal's names, at the top level and in its modules.
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

// Words of C and C++, and names that their headers declare at the top level.
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

// Fields of Array, Hash, String, Fiber and similar classes.
constexpr std::string_view kFields =
    "block buffer bytesize c capacity cause compare_by_identity context current data deleted_count "
    "end entries exclusive fd fiber first hash head indices indices_bytesize indices_size_pow2 io "
    "key "
    "last length list mutex next offset_to_buffer previous proc queue regs resume_event size stack "
    "stack_bottom stack_top start stop tail value";

// Names in std, __gnu_cxx and __cxxabiv1 and the namespaces in them.
constexpr std::string_view kStandard =
    "_Alloc_hider _Any_data _Async_state_common _Async_state_impl _Base_manager _Bit_iterator "
    "_Bit_reference _Bvector_base _Bvector_impl _Default_ranged_hash _Deferred_state _Deque_base "
    "_Deque_impl _Deque_impl_data _Deque_iterator _Function_base _Function_handler _Fwd_list_base "
    "_Fwd_list_impl _Fwd_list_node _Fwd_list_node_base _Hash_code_base _Hash_node _Hash_node_base "
    "_Hash_node_code_cache _Hash_node_value _Hash_node_value_base _Hashtable _Hashtable_alloc "
    "_Hashtable_base _Hashtable_ebo_helper _Hashtable_traits _Head_base _Identity _Impl _Insert "
    "_Insert_base _Invoker _List_base _List_impl _List_iterator _List_node _List_node_base "
    "_List_node_header _Local_const_iterator _Manager_operation _Map_base _Mod_range_hashing _NFA "
    "_Nocopy_types _Node_iterator _Node_iterator_base _Not_fn _Optional_base _Optional_payload "
    "_Optional_payload_base _Placeholder _Prime_rehash_policy _Rb_tree _Rb_tree_color "
    "_Rb_tree_const_iterator _Rb_tree_header _Rb_tree_impl _Rb_tree_iterator _Rb_tree_key_compare "
    "_Rb_tree_node _Rb_tree_node_base _Rehash_base _Rep _Result _Result_base _Select1st "
    "_Sp_alloc_shared_tag _Sp_counted_base _Sp_counted_deleter _Sp_counted_ptr "
    "_Sp_counted_ptr_inplace _Sp_ebo_helper _State _StateSeq _State_base _State_baseV2 "
    "_State_impl _Task_setter _Task_state _Task_state_base _Temporary_buffer _Tuple_impl "
    "_UninitDestroyGuard _Uninitialized _V2 _Variadic_union _Variant_base _Variant_storage "
    "_Variant_storage_alias _Vector_base _Vector_impl _Vector_impl_data __aligned_buffer "
    "__aligned_membuf __allocated_ptr __allocator __atomic_base __basic_future __class_type_info "
    "__concurrence __cow_string __cxa_eh_globals __cxa_exception __cxx11 __debug "
    "__default_lock_policy __detail __enable_shared_from_this __exception_ptr __future_base "
    "__gnu_cxx __hash_code __mt_alloc __mutex_base __node_base __node_type __normal_iterator "
    "__pool_alloc __recursive_mutex __shared_count __shared_ptr __shared_ptr_access "
    "__si_class_type_info __sso_string __thread_specific __timed_mutex_impl __uniq_ptr_data "
    "__uniq_ptr_impl __vmi_class_type_info __weak_count __weak_ptr allocator allocator_traits any "
    "array atomic atomic_flag atomic_ref bad_alloc bad_any_cast bad_cast bad_exception "
    "bad_function_call bad_optional_access bad_variant_access bad_weak_ptr barrier basic_filebuf "
    "basic_fstream basic_ifstream basic_ios basic_iostream basic_istream basic_istringstream "
    "basic_ofstream basic_ostream basic_ostringstream basic_regex basic_streambuf basic_string "
    "basic_string_view basic_stringbuf basic_stringstream bitset byte char_traits chrono codecvt "
    "complex condition_variable condition_variable_any counting_semaphore ctype default_delete "
    "deque directory_entry directory_iterator domain_error duration enable_shared_from_this "
    "equal_to error_category error_code error_condition exception exception_ptr failure filebuf "
    "filesystem forward_list fpos fstream function future future_error greater hash ifstream "
    "initializer_list integral_constant invalid_argument ios ios_base iostream istream "
    "istream_iterator istringstream jthread latch length_error less list literals locale "
    "lock_guard logic_error malloc_allocator map match_results memory_resource "
    "mersenne_twister_engine monostate monotonic_buffer_resource move_only_function multimap "
    "multiset mutex nested_exception new_allocator nullopt_t nullptr_t numpunct ofstream "
    "once_flag optional ostream ostringstream out_of_range overflow_error packaged_task pair path "
    "placeholders pmr polymorphic_allocator priority_queue promise ptrdiff_t queue random_device "
    "range_error ranges ratio recursive_directory_iterator recursive_mutex recursive_timed_mutex "
    "reference_wrapper regex regex_constants regex_traits reverse_iterator runtime_error seed_seq "
    "set shared_future shared_lock shared_mutex shared_ptr shared_timed_mutex size_t span stack "
    "stdio_filebuf stdio_sync_filebuf steady_clock stop_source stop_token streambuf string "
    "string_view stringbuf stringstream strong_ordering sub_match synchronized_pool_resource "
    "syntax_option_type system_clock system_error this_thread thread time_point timed_mutex tuple "
    "type_index type_info u16string u32string u8string underflow_error unique_lock unique_ptr "
    "unordered_map unordered_multimap unordered_multiset unordered_set "
    "unsynchronized_pool_resource valarray variant vector weak_ptr wfilebuf wifstream wofstream "
    "wostringstream wstring wstring_view wstringstream";

// Types of libc and of the collector.
constexpr std::string_view kReserved =
    "GC_Thread_Rep GC_finalizable_object GC_finalization_roots GC_hblk_s GC_mark_stack_entry "
    "GC_ms_entry GC_prof_stats_s GC_stack_base GC_stack_context_s GC_thread GC_toggle_ref_s "
    "GC_typed_extent _G_fpos64_t _G_fpos_t _IO_FILE _IO_codecvt _IO_cookie_file _IO_lock_t "
    "_IO_marker _IO_wide_data __int128 __jmp_buf_tag __locale_data __locale_struct __mbstate_t "
    "__once_flag __pthread_cond_s __pthread_internal_list __pthread_mutex_s "
    "__pthread_rwlock_arch_t __sigset_t __va_list_tag";

// Fields of types of libc and of the collector.
constexpr std::string_view kReservedFields =
    "_M_alloc _M_allocated_capacity _M_array _M_automaton _M_base _M_bbegin _M_before_begin "
    "_M_bucket_count _M_buckets _M_buf _M_caches _M_cat _M_category _M_code _M_color _M_cond "
    "_M_count _M_cur _M_current _M_data _M_dataplus _M_deleter _M_dispose _M_element_count "
    "_M_elems _M_end _M_end_of_storage _M_engaged _M_exception_object _M_extent _M_extent_value "
    "_M_facets _M_facets_size _M_finish _M_first _M_flags _M_functor _M_h _M_hash_code "
    "_M_head_impl _M_header _M_id _M_impl _M_index _M_invoker _M_key_compare _M_last _M_left "
    "_M_len _M_local_buf _M_locale _M_manager _M_map _M_map_size _M_max_load_factor _M_message "
    "_M_msg _M_mutex _M_names _M_next _M_next_resize _M_node _M_node_count _M_nxt _M_object "
    "_M_offset _M_once _M_owner _M_p _M_parent _M_pathname _M_payload _M_pi _M_prev _M_ptr "
    "_M_refcount _M_references _M_rehash_policy _M_rest _M_result _M_right _M_single_bucket "
    "_M_size _M_start _M_state _M_status _M_storage _M_str _M_string _M_string_length _M_t "
    "_M_thread _M_u _M_unused _M_use_count _M_value _M_vptr _M_w _M_weak_count _M_weak_this _M_x "
    "__align __atomic __count __cur_writer __data __elision __flags __g1_orig_size __g_refs "
    "__g_signals __g_size __jmpbuf __kind __list __lock __mask_was_saved __next __nusers __owner "
    "__pad1 __pad2 __prev __readers __rwelision __saved_mask __shared __size __spins __val "
    "__value __wch __wchb __wrefs __writers __writers_futex __wseq";

// Variables of the collector and of code that is linked into every program.
constexpr std::string_view kVariables =
    "GC_active_count GC_all_interior_pointers GC_allocate_ml GC_allocd_bytes_per_finalizer "
    "GC_aobjfreelist_ptr GC_array_kind GC_arrays GC_auobjfreelist_ptr GC_black_list_spacing "
    "GC_bm_table GC_bytes_allocd_tmp GC_bytes_found GC_check_heap GC_collect_at_heapsize "
    "GC_collecting GC_copyright GC_current_warn_proc GC_data_start GC_debugging_started "
    "GC_default_stop_func GC_deficit GC_describe_type_fns GC_disable_automatic_collection "
    "GC_dont_expand GC_dont_gc GC_dont_precollect GC_dump_regularly GC_explicit_kind "
    "GC_fail_count GC_finalize_on_demand GC_finalizer_notifier GC_find_leak "
    "GC_findleak_delay_free GC_fl_builder_count GC_force_unmap_on_gcollect GC_free_bytes "
    "GC_free_space_divisor GC_full_freq GC_gc_no GC_gcj_debug_kind GC_gcj_kind "
    "GC_greatest_plausible_heap_addr GC_handle_fork GC_has_static_roots GC_have_errors "
    "GC_hblkfreelist GC_heapsize_at_forced_unmap GC_help_wanted GC_helper_count "
    "GC_in_thread_creation GC_incomplete_normal_bl GC_incomplete_stack_bl GC_incremental "
    "GC_init_time GC_is_full_gc GC_is_initialized GC_is_valid_displacement_print_proc "
    "GC_is_visible_print_proc GC_java_finalization GC_jmp_buf GC_large_alloc_warn_interval "
    "GC_large_alloc_warn_suppressed GC_leaked GC_least_plausible_heap_addr GC_log GC_manual_vdb "
    "GC_mark_no GC_mark_threads GC_max_heapsize GC_max_retries GC_n_attempts GC_n_kinds "
    "GC_n_leaked GC_n_mark_procs GC_n_rescuing_pages GC_n_smashed GC_need_full_gc GC_need_to_lock "
    "GC_no_dls GC_non_gc_bytes GC_non_gc_bytes_at_gc GC_noop_sink GC_nprocs GC_obj_kinds "
    "GC_object_finalized_proc GC_objfreelist_ptr GC_old_bus_handler GC_old_dl_entries "
    "GC_old_ll_entries GC_old_normal_bl GC_old_segv_handler GC_old_segv_handler_used_si "
    "GC_old_stack_bl GC_on_abort GC_on_collection_event GC_on_heap_resize GC_on_thread_event "
    "GC_oom_fn GC_page_size GC_pages_executable GC_parallel GC_parallel_mark_disabled "
    "GC_print_all_smashed GC_print_back_height GC_print_heap_obj GC_print_stats "
    "GC_push_other_roots GC_push_typed_structures GC_quiet GC_rate GC_reclaimed_bytes_before_gc "
    "GC_retry_signals GC_root_size GC_same_obj_print_proc GC_should_start_incremental_collection "
    "GC_sig_suspend GC_sig_thr_restart GC_smashed GC_stackbottom GC_start_call_back GC_start_time "
    "GC_static_roots GC_stderr GC_stdout GC_stop_count GC_suspend_ack_sem GC_thr_initialized "
    "GC_thread_key "
    "GC_threads GC_time_lim_nsec GC_time_limit GC_toggleref_callback GC_total_stack_black_listed "
    "GC_total_stacksize GC_typed_mark_proc_index GC_unmap_threshold GC_uobjfreelist_ptr "
    "GC_use_entire_heap GC_used_heap_size_after_full GC_world_is_stopped GC_world_stopped "
    "__bss_start __data_start __dso_handle __environ __libc_single_threaded __progname "
    "__progname_full __stack_chk_guard";

// Library files, without ".so" and versions.
constexpr std::string_view kFiles =
    "[vdso] linux-vdso ld libatomic libc libcrypto libdl libevent libevent_core "
    "libevent_extra libevent_pthreads libgc libgcc_s libgccpp libgmp libgmpxx libiconv liblzma "
    "libm "
    "libpcre libpcre2 libpthread librt libssl libstdc++ libunwind libxml2 libyaml libz";

// Whether each part of a path is known, as in "std::__cxx11::basic_string".
bool is_standard(std::string_view path) {
  static const Words words = words_of(kStandard);
  const std::size_t end = path.find("::");
  const std::string_view top = path.substr(0, end);
  if (end == std::string_view::npos) return false;
  if (top != "std" && top != "__gnu_cxx" && top != "__cxxabiv1") return false;
  for (std::size_t at = end; at != std::string_view::npos;) {
    const std::size_t next = path.find("::", at + 2);
    if (!words.contains(path.substr(at + 2, next - at - 2))) return false;
    at = next;
  }
  return true;
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

Language language_of(std::string_view runtime) {
  return runtime == "crystal" ? Language::Crystal
         : runtime == "ruby"  ? Language::Ruby
                              : Language::Other;
}

bool is_library_type(std::string_view path, Language language) {
  static const Words plain = words_of(kPlain);
  static const Words reserved = words_of(kReserved);
  return plain.contains(path) || reserved.contains(path) || is_standard(path) ||
         (language == Language::Crystal && is_crystal(path)) ||
         (language == Language::Ruby && is_ruby_type(path));
}

bool is_library_field(std::string_view name) {
  static const Words names = words_of(kFields);
  static const Words reserved = words_of(kReservedFields);
  return names.contains(name) || reserved.contains(name);
}

bool is_library_symbol(std::string_view name, Language language) {
  static const Words variables = words_of(kVariables);
  return variables.contains(name) || (language == Language::Crystal && is_crystal(name)) ||
         (language == Language::Ruby && is_ruby_symbol(name));
}

bool is_library_file(std::string_view path) {
  static const Words names = words_of(kFiles);
  std::string_view name = path.substr(path.rfind('/') + 1);
  name = name.substr(0, name.find(".so"));
  // Removes a version, as in libc-2.31 and libyaml-0.
  const std::size_t version = name.find_last_not_of("0123456789.");
  const bool has_version = version != std::string_view::npos && name[version] == '-';
  return names.contains(name) || std::ranges::find(kLoaderNames, name) != kLoaderNames.end() ||
         (has_version && names.contains(name.substr(0, version)));
}

}  // namespace heapattach
