// A heap dump of Java, "JAVA PROFILE 1.0.2", for Eclipse MAT and VisualVM. Best effort: these read
// Java's heaps, and another heap fits only approximately. Numbers are big-endian. After a head come
// records, each with its length: strings, classes by name, one empty stack trace, then segments of
// the dump with sub-records for classes, roots and objects.
//
// Facts about the readers that shaped this:
// - They compute sizes themselves: a head of 16 bytes and the fields or elements, eight bytes each.
//   So classes have fields `fill…`, and arrays empty elements, to make up the object's size. An
//   object whose words are all references appears up to 16 bytes too large.
// - MAT drops unreachable objects unless it is set otherwise, and so it would drop a heap without
//   roots. Hence all roots are here: variables as JNI globals, everything else as "unknown".
// - A class name that begins with [ is an array's: `[LFoo;` shows as Foo[].
// - VisualVM adds the head to an instance's size unless java.lang.Object has a size of its own, as
//   in the dumps of newer Javas: so all sizes here include the head.
// - VisualVM wants java.lang.System with a static `props`, an instance of a class with a `table` of
//   references, and java.lang.ref.Reference with a `referent` and four subclasses, before it
//   computes sizes or paths to roots. The properties and their table are objects for readers only.
// - A segment has 32 bits for its length, so there are many; an array is cut at kMostElements.

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "report/format/export/hprof_records.h"
#include "report/format/export/hprof_shapes.h"
#include "report/format/export/root_groups.h"
#include "report/format/export/stream.h"
#include "report/short_names.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;

constexpr std::uint64_t kClasses = 0x1000'0000'0000'0000;  // addresses that no object has
constexpr std::uint64_t kHeadBytes = 16;
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 28;

enum SubTag : std::uint8_t {
  kJniGlobal = 0x01,
  kClassDump = 0x20,
  kInstance = 0x21,
  kObjectArray = 0x22,
  kRootUnknown = 0xff,
};
enum Basic : std::uint8_t { kReference = 2, kLong = 11 };

class Writer {
 public:
  Writer(const Snapshot& snapshot, Sink& sink, const ExportOptions& options)
      : snapshot_(snapshot), out_(sink, options), records_(out_), shapes_(hprof_shapes(snapshot)) {}

  Result<void> write() && {
    put_head();
    put_classes();
    put_roots();
    put_properties();
    for (std::size_t i = 0; i < snapshot_.objects.size() && !out_.has_failed(); ++i) {
      if (is_counted(snapshot_, snapshot_.objects[i])) put_object(i);
      if (i % 65536 == 0) out_.progress(i);
    }
    records_.end_segment();
    records_.put(HprofTag::End, "");
    return out_.finish();
  }

 private:
  // Classes for the readers' sake come after those of the types.
  enum Extra : std::uint8_t {
    kObjectClass,
    kClassClass,
    kSystem,
    kReferenceClass,
    kWeakReference,
    kSoftReference,
    kFinalReference,
    kPhantomReference,
    kPropertiesClass,
    kTableClass,
    kProperties,  // an instance, and its table
    kTable,
  };
  [[nodiscard]] std::uint64_t class_of(std::size_t type) const { return kClasses + 16 * type; }
  [[nodiscard]] std::uint64_t class_of(Extra extra) const {
    return class_of(snapshot_.types.size() + extra);
  }
  // For an instance with that many words of fields.
  static std::uint32_t instance_bytes(std::size_t words) {
    return static_cast<std::uint32_t>(kHeadBytes + 8 * words);
  }

  void put_head() {
    out_.put(std::string_view("JAVA PROFILE 1.0.2\0", 19));
    std::string rest;
    add(rest, std::uint32_t{8});
    std::tm parts{};
    const bool has_time =
        ::strptime(snapshot_.header.captured.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) != nullptr;
    add(rest, has_time ? static_cast<std::uint64_t>(::timegm(&parts)) * 1000 : std::uint64_t{0});
    out_.put(rest);
    std::string trace;
    add(trace, std::uint32_t{1});
    add(trace, std::uint32_t{0});
    add(trace, std::uint32_t{0});
    records_.put(HprofTag::StackTrace, trace);
  }

  void put_name(std::uint64_t id, std::string_view name) {
    const std::uint64_t string = records_.put_string(name);
    std::string body;
    add(body, ++last_class_);
    add_id(body, id);
    add(body, std::uint32_t{1});
    add_id(body, string);
    records_.put(HprofTag::LoadClass, body);
  }

  // Begins the sub-record of a class, up to its static fields.
  std::string& open_class(std::uint64_t id, std::uint64_t super, std::uint32_t bytes) {
    std::string& body = records_.segment(4096);
    add(body, std::uint8_t{kClassDump});
    add_id(body, id);
    add(body, std::uint32_t{1});
    add_id(body, super);
    for (int i = 0; i < 5; ++i) add_id(body, 0);
    add(body, bytes);
    add(body, std::uint16_t{0});
    return body;
  }

  void put_classes() {
    put_name(class_of(kObjectClass), "java/lang/Object");
    put_name(class_of(kClassClass), "java/lang/Class");
    put_name(class_of(kSystem), "java/lang/System");
    put_name(class_of(kReferenceClass), "java/lang/ref/Reference");
    put_name(class_of(kWeakReference), "java/lang/ref/WeakReference");
    put_name(class_of(kSoftReference), "java/lang/ref/SoftReference");
    put_name(class_of(kFinalReference), "java/lang/ref/FinalReference");
    put_name(class_of(kPhantomReference), "java/lang/ref/PhantomReference");
    put_name(class_of(kPropertiesClass), "java/util/Properties");
    put_name(class_of(kTableClass), "[Ljava/lang/Object;");
    const std::uint64_t fill = records_.put_string("fill");
    std::vector<std::vector<std::uint64_t>> names(shapes_.size());
    for (std::size_t type = 0; type < shapes_.size(); ++type) {
      if (!shapes_[type].has_objects) continue;
      const std::string name = terminal_text(shown_type_name(snapshot_.types[type].name));
      put_name(class_of(type), shapes_[type].is_class ? name : fmt::format("[L{};", name));
      for (const std::string& field : shapes_[type].names) {
        names[type].push_back(records_.put_string(terminal_text(field)));
      }
    }
    put_extra_classes();
    for (std::size_t type = 0; type < shapes_.size(); ++type) {
      if (shapes_[type].has_objects) put_class(type, names[type], fill);
    }
  }

  void put_extra_classes() {
    const std::uint64_t props = records_.put_string("props");
    const std::uint64_t referent = records_.put_string("referent");
    const std::uint64_t defaults = records_.put_string("defaults");
    const std::uint64_t table = records_.put_string("table");
    const auto no_fields = [](std::string& body) {
      add(body, std::uint16_t{0});
      add(body, std::uint16_t{0});
    };
    no_fields(open_class(class_of(kObjectClass), 0, instance_bytes(0)));
    no_fields(open_class(class_of(kClassClass), class_of(kObjectClass), instance_bytes(0)));
    no_fields(open_class(class_of(kTableClass), class_of(kObjectClass), 0));
    std::string& system = open_class(class_of(kSystem), class_of(kObjectClass), instance_bytes(0));
    add(system, std::uint16_t{1});
    add_id(system, props);
    add(system, std::uint8_t{kReference});
    add_id(system, class_of(kProperties));
    add(system, std::uint16_t{0});
    const auto references = [this](Extra id, const std::vector<std::uint64_t>& names) {
      std::string& body =
          open_class(class_of(id), class_of(kObjectClass), instance_bytes(names.size()));
      add(body, std::uint16_t{0});
      add(body, static_cast<std::uint16_t>(names.size()));
      for (const std::uint64_t name : names) {
        add_id(body, name);
        add(body, std::uint8_t{kReference});
      }
    };
    references(kReferenceClass, {referent});
    references(kPropertiesClass, {defaults, table});
    for (const Extra id : {kWeakReference, kSoftReference, kFinalReference, kPhantomReference}) {
      no_fields(open_class(class_of(id), class_of(kReferenceClass), instance_bytes(1)));
    }
  }

  // Empty properties, in an empty table.
  void put_properties() {
    std::string& properties = records_.segment(64);
    add(properties, std::uint8_t{kInstance});
    add_id(properties, class_of(kProperties));
    add(properties, std::uint32_t{1});
    add_id(properties, class_of(kPropertiesClass));
    add(properties, std::uint32_t{16});
    add_id(properties, 0);
    add_id(properties, class_of(kTable));
    std::string& table = records_.segment(64);
    add(table, std::uint8_t{kObjectArray});
    add_id(table, class_of(kTable));
    add(table, std::uint32_t{1});
    add(table, std::uint32_t{0});
    add_id(table, class_of(kTableClass));
  }

  void put_class(std::size_t type, const std::vector<std::uint64_t>& names, std::uint64_t fill) {
    const HprofShape& shape = shapes_[type];
    const auto fields = static_cast<std::uint16_t>(names.size() + shape.fill_words);
    std::string& body = open_class(class_of(type), class_of(kObjectClass), instance_bytes(fields));
    add(body, std::uint16_t{0});
    add(body, fields);
    for (const std::uint64_t name : names) {
      add_id(body, name);
      add(body, std::uint8_t{kReference});
    }
    for (std::uint32_t i = 0; i < shape.fill_words; ++i) {
      add_id(body, fill);
      add(body, std::uint8_t{kLong});
    }
  }

  void put_roots() {
    for (const RootGroup& group : group_roots(snapshot_)) {
      for (const std::uint32_t root : group.roots) {
        std::string& body = records_.segment(32);
        const bool is_global =
            snapshot::root_kind(group.kind).word == snapshot::RootWord::InVariable;
        add(body, std::uint8_t{is_global ? kJniGlobal : kRootUnknown});
        add_id(body, snapshot_.objects[snapshot_.roots[root].to].address);
        if (is_global) add_id(body, snapshot_.roots[root].address);
      }
    }
  }

  void put_object(std::size_t index) {
    const snapshot::Object& object = snapshot_.objects[index];
    if (shapes_[object.type].is_class) {
      put_instance(object, shapes_[object.type], snapshot_.edges_of(index));
    } else {
      put_array(object, snapshot_.edges_of(index));
    }
  }

  void put_instance(const snapshot::Object& object,
                    const HprofShape& shape,
                    std::span<const snapshot::Edge> edges) {
    const std::size_t bytes = 8 * (shape.words.size() + shape.fill_words);
    std::string& body = records_.segment(bytes + 32);
    add(body, std::uint8_t{kInstance});
    add_id(body, object.address);
    add(body, std::uint32_t{1});
    add_id(body, class_of(object.type));
    add(body, static_cast<std::uint32_t>(bytes));
    std::size_t next = 0;
    for (const std::uint32_t word : shape.words) {
      const bool leads_on = next < edges.size() && edges[next].offset_words == word;
      add_id(body, leads_on ? snapshot_.objects[edges[next++].to].address : 0);
    }
    body.append(std::size_t{shape.fill_words} * 8, '\0');
  }

  // A large array has a segment of its own and is never in memory as a whole.
  void put_array(const snapshot::Object& object, std::span<const snapshot::Edge> edges) {
    const std::uint64_t words = snapshot_.bytes_of(object) / 8;
    const std::uint64_t room = words > 2 ? words - 2 : 0;
    const std::uint64_t count =
        std::min(kMostElements, std::max<std::uint64_t>(edges.size(), room));
    edges = edges.first(std::min<std::uint64_t>(edges.size(), count));
    std::string head;
    add(head, std::uint8_t{kObjectArray});
    add_id(head, object.address);
    add(head, std::uint32_t{1});
    add(head, static_cast<std::uint32_t>(count));
    add_id(head, class_of(object.type));
    const std::uint64_t bytes = head.size() + 8 * count;
    if (bytes <= HprofRecords::kSegmentBytes) {
      std::string& body = records_.segment(bytes);
      body += head;
      for (const auto& edge : edges) add_id(body, snapshot_.objects[edge.to].address);
      body.append(8 * (count - edges.size()), '\0');
      return;
    }
    records_.end_segment();
    records_.put_head(HprofTag::Segment, bytes);
    out_.put(head);
    std::string record;
    for (const auto& edge : edges) {
      record.clear();
      add_id(record, snapshot_.objects[edge.to].address);
      out_.put(record);
    }
    for (std::uint64_t i = edges.size(); i < count && !out_.has_failed(); ++i) out_.put_word(0);
  }

  const Snapshot& snapshot_;
  ExportStream out_;
  HprofRecords records_;
  std::vector<HprofShape> shapes_;
  std::uint32_t last_class_ = 0;
};

}  // namespace

Result<void> write_hprof(const Snapshot& snapshot, Sink& sink, const ExportOptions& options) {
  return Writer(snapshot, sink, options).write();
}

}  // namespace heapattach
