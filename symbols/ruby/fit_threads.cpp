#include "symbols/ruby/fit_threads.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "symbols/ruby/list.h"

namespace heapattach::ruby {

namespace {

constexpr std::uint64_t kMostFrameWords = std::uint64_t{1} << 25;
constexpr std::uint64_t kRactorBytes = 2048;
constexpr std::uint64_t kThreadBytes = 640;

std::uint16_t small(std::uint64_t offset) {
  return static_cast<std::uint16_t>(offset);
}

// The name of a Data's type; empty if it has none.
std::string type_name(const Values& values, Value value) {
  const auto slot = values.slot(value);
  if (!slot || slot->kind() != Kind::Data || slot->data_type(values.form()) == 0) return {};
  const auto name = values.word(slot->data_type(values.form()));
  return name ? values.c_text(*name).value_or("") : std::string();
}

bool is_data_of(const Values& values, Value value, std::string_view type, std::uint64_t structure) {
  const auto slot = values.slot(value);
  return slot && slot->kind() == Kind::Data && slot->data(value, values.form()) == structure &&
         type_name(values, value) == type;
}

// Whether an execution context is at `at`: its current frame is on its stack.
bool is_context(const Values& values, const Layout& layout, std::uint64_t at) {
  const auto& form = layout.context;
  const auto stack = values.word(at + form.stack);
  const auto words = values.word(at + form.stack_words);
  const auto frame = values.word(at + form.frame);
  return stack && words && frame && is_reference(*stack) && *words != 0 &&
         *words<kMostFrameWords&& * frame> * stack && *frame < *stack + *words * 8;
}

// Finds the contexts' offset in a thread, and the thread's in a context.
bool fit_context(const Values& values, std::uint64_t thread, Layout& layout) {
  auto& form = layout.thread;
  for (std::uint64_t at = form.vm + 8U; at <= form.vm + 32U; at += 8) {
    const auto context = values.word(thread + at);
    if (!context || !is_reference(*context) || !is_context(values, layout, *context)) continue;
    for (std::uint64_t back = 32; back <= 80; back += 8) {
      if (values.word(*context + back) != thread) continue;
      form.context = small(at);
      layout.context.thread = small(back);
      layout.context.fiber = small(back - 8);
      return true;
    }
  }
  return false;
}

std::optional<std::uint64_t> node_within(const std::vector<std::uint64_t>& nodes,
                                         std::uint64_t structure,
                                         std::uint64_t bytes) {
  for (const std::uint64_t node : nodes) {
    if (node >= structure && node < structure + bytes) return node - structure;
  }
  return std::nullopt;
}

class ThreadFitter {
 public:
  ThreadFitter(const Values& values, std::uint64_t vm, Layout& layout)
      : values_(values),
        vm_(vm),
        thread_(values.word(vm + layout.vm.main_thread).value_or(0)),
        context_(values.word(thread_ + layout.thread.context).value_or(0)),
        layout_(layout) {}

  std::string_view fit() {
    if (!find_object()) return "its main thread's object was not found";
    if (!find_ractor()) return "its list of threads was not found";
    if (!find_fiber()) return "its main thread's fiber was not found";
    if (!find_waits()) return "its threads' queues of interrupts were not found";
    find_name();
    check_lists();
    return {};
  }

 private:
  bool find_object() {
    for (std::uint64_t at = 0; at <= 64; at += 8) {
      const auto object = values_.word(thread_ + at);
      if (!object || !is_data_of(values_, *object, "VM/thread", thread_)) continue;
      layout_.thread.object = small(at);
      return true;
    }
    return false;
  }

  // Finds the ractor: the thread is in a list whose head is there, followed by the number of
  // threads.
  bool find_ractor() {
    const auto nodes = list_nodes(values_, thread_, kMostThreads);
    if (!nodes) return false;
    for (std::uint64_t at = 16; at <= 56; at += 8) {
      const std::uint64_t ractor = values_.word(thread_ + at).value_or(0);
      const bool may_be = is_reference(ractor) && ractor != vm_ && ractor != context_;
      const auto head = may_be ? node_within(*nodes, ractor, kRactorBytes) : std::nullopt;
      if (!head || values_.as<std::uint32_t>(ractor + *head + 16) != nodes->size()) continue;
      auto& form = layout_.ractor;
      form.lock_owner = small(*head + form.lock_owner - form.threads);
      form.threads = small(*head);
      form.thread_count = small(*head + 16);
      return find_ractors(ractor);
    }
    return false;
  }

  bool find_ractors(std::uint64_t ractor) {
    for (std::uint64_t at = 8; at < layout_.vm.main_thread; at += 8) {
      const auto nodes = list_nodes(values_, vm_ + at, kMostRactors);
      const auto node = nodes ? node_within(*nodes, ractor, kRactorBytes) : std::nullopt;
      if (!node) continue;
      layout_.vm.ractors = small(at);
      layout_.ractor.node = small(*node);
      return true;
    }
    return false;
  }

  // Finds the fiber, of which the context is a part.
  bool find_fiber() {
    constexpr std::uint64_t kMostBefore = 512;
    const std::uint64_t fiber = values_.word(context_ + layout_.context.fiber).value_or(0);
    if (!is_reference(fiber) || fiber >= context_ || context_ - fiber > kMostBefore) return false;
    layout_.fiber.context = small(context_ - fiber);
    return true;
  }

  // Finds what the thread is blocked in, and the Mutex that it waits for: the two Arrays for its
  // interrupts are between them.
  bool find_waits() {
    constexpr std::uint64_t kBlockingBefore = 24;
    for (std::uint64_t at = layout_.thread.context + 8U; at < kThreadBytes; at += 8) {
      const auto queue = values_.slot(values_.word(thread_ + at).value_or(0));
      const auto masks = values_.slot(values_.word(thread_ + at + 8).value_or(0));
      const bool are_arrays = queue && masks && queue->kind() == Kind::Array &&
                              masks->kind() == Kind::Array && queue->of_class() == 0 &&
                              masks->of_class() == 0;
      const Value group = values_.word(thread_ + at - 16).value_or(0);
      if (!are_arrays || type_name(values_, group) != "thgroup") continue;
      layout_.thread.blocking = small(at - kBlockingBefore);
      layout_.thread.awaited_mutex = small(place_of_mutex(at));
      return true;
    }
    return false;
  }

  // A lock of the C library precedes the Mutex. Its size depends on the processor: 40 or 48 bytes.
  [[nodiscard]] std::uint64_t place_of_mutex(std::uint64_t arrays) const {
    constexpr std::uint64_t kBehind = 72;
    const auto may_be = [&](std::uint64_t at) {
      const Value value = values_.word(thread_ + at).value_or(1);
      return value == 0 || type_name(values_, value) == "mutex";
    };
    const std::uint64_t at = arrays + kBehind;
    return !may_be(at) && may_be(at + 8) ? at + 8 : at;
  }

  // Finds the name, which is three words after the thread's first fiber. If it is not found,
  // threads have no names.
  void find_name() {
    constexpr std::uint64_t kNameBehind = 24;
    constexpr Value kMostSpecial = 0x34;  // nil, in every release
    const auto& form = layout_.thread;
    const std::uint64_t back = layout_.fiber.context + layout_.context.thread;
    layout_.thread.name = 0;
    for (std::uint64_t at = form.awaited_mutex + 8U; at < kThreadBytes; at += 8) {
      const std::uint64_t fiber = values_.word(thread_ + at).value_or(0);
      if (!is_reference(fiber) || values_.word(fiber + back) != thread_) continue;
      const std::uint64_t place = at + kNameBehind;
      const Value name = values_.word(thread_ + place).value_or(~std::uint64_t{0});
      if (name <= kMostSpecial || values_.text(name)) layout_.thread.name = small(place);
      return;
    }
  }

  // Forgets the offsets of the list of awaited descriptors, which releases before 3.4 have, and of
  // the lock's owner, unless they fit.
  void check_lists() {
    auto& waiting = layout_.vm.waiting_descriptors;
    if (waiting != 0 && !list_nodes(values_, vm_ + waiting, kMostThreads)) waiting = 0;
    auto& owner = layout_.ractor.lock_owner;
    const std::uint64_t ractor = values_.word(vm_ + layout_.vm.ractors).value_or(0);
    const auto thread = values_.word(ractor - layout_.ractor.node + owner);
    const bool is_thread =
        thread && (*thread == 0 || values_.word(*thread + layout_.thread.vm) == vm_);
    if (!is_thread) owner = 0;
  }

  const Values& values_;
  std::uint64_t vm_;
  std::uint64_t thread_;
  std::uint64_t context_;
  Layout& layout_;
};

bool is_text(const Values& values, Value value) {
  const auto slot = values.slot(value);
  return slot && slot->kind() == Kind::String;
}

// A path is a String, or an Array with the path as given and the real path.
bool is_path(const Values& values, Value value) {
  return is_text(values, value) || is_text(values, values.element(value, 0).value_or(0));
}

constexpr std::uint64_t kBodyBytes = 240;
using Body = std::array<std::uint64_t, kBodyBytes / 8>;

std::uint32_t half(const Body& body, std::uint64_t at) {
  return static_cast<std::uint32_t>(body[at / 8] >> (at % 8 * 8));
}

bool has_names(const Values& values, const Body& body, std::uint64_t at) {
  return is_path(values, body[at / 8]) && is_text(values, body[at / 8 + 1]) &&
         is_text(values, body[at / 8 + 2]);
}

// The offset at which a path is followed by two names. Code that is garbage may have lost its
// names, so a third of the bodies may lack them, and are removed.
std::uint64_t find_path(const Values& values, std::vector<Body>& bodies) {
  for (std::uint64_t at = 16; at + 40 < kBodyBytes; at += 8) {
    std::vector<Body> named;
    for (const Body& body : bodies) {
      if (has_names(values, body, at)) named.push_back(body);
    }
    if (named.size() < 2 || named.size() * 3 < bodies.size() * 2) continue;
    bodies = std::move(named);
    return at;
  }
  return 0;
}

// Whether a body has its table of lines at this offset.
bool has_lines(const Values& values, const Layout& layout, const Body& body, std::uint64_t at) {
  constexpr std::uint32_t kMostLines = 1'000'000;
  const std::uint32_t instructions = half(body, layout.code.size);
  const std::uint32_t count = half(body, at + 16);
  if (count == 0 || count > instructions || !is_reference(body[at / 8])) return false;
  const auto line = values.as<std::uint32_t>(body[at / 8]);
  const auto last =
      values.as<std::uint32_t>(body[at / 8] + std::uint64_t{count - 1} * layout.line_bytes);
  return line && last && *line < kMostLines && *last < kMostLines &&
         (count == 1 || is_reference(body[at / 8 + 3]));
}

bool fit_bodies(const Values& values, std::vector<Body> bodies, Layout& layout) {
  auto& form = layout.code;
  const std::uint64_t path = find_path(values, bodies);
  if (path == 0) return false;
  form.path = small(path);
  form.label = small(path + 16);
  form.first_line = small(path + 24);
  // If the first line is a plain number, the upper half of its word is the number of a node.
  form.first_line_is_value = true;
  for (const Body& body : bodies) {
    const std::uint64_t word = body[form.first_line / 8];
    if (word >> 32 != 0 || word % 2 == 0) form.first_line_is_value = false;
  }
  for (std::uint64_t at = path + 40; at <= path + 64; at += 8) {
    bool has_all = true;
    for (const Body& body : bodies) has_all = has_all && has_lines(values, layout, body, at);
    if (!has_all) continue;
    form.lines = small(at);
    form.line_count = small(at + 16);
    form.line_index = small(at + 24);
    form.bytes = small(at + 32);
    return true;
  }
  return false;
}

// Whether the main thread's stack consists of frames of this size: each has code, or none.
bool has_frames(const Values& values,
                const Layout& layout,
                std::uint64_t context,
                std::uint64_t bytes) {
  constexpr std::uint64_t kMostChecked = 200;
  const auto stack = values.word(context + layout.context.stack);
  const auto words = values.word(context + layout.context.stack_words);
  const auto first = values.word(context + layout.context.frame);
  if (!stack || !words || !first) return false;
  const std::uint64_t end = *stack + *words * 8 - bytes;
  if (*first > end || (end - *first) % bytes != 0) return false;
  bool has_any = false;
  std::uint64_t checked = 0;
  for (std::uint64_t at = end; at > *first && checked < kMostChecked; ++checked) {
    at -= bytes;
    const auto code = values.word(at + layout.frame.iseq);
    // A frame of C code has no code, and one of a block of C code no position in it.
    if (code == std::uint64_t{0} || values.word(at + layout.frame.pc) == std::uint64_t{0}) continue;
    const auto slot = values.slot(code.value_or(0));
    constexpr unsigned kCode = 7;
    if (!slot || slot->kind() != Kind::Imemo || (slot->flags() >> 12 & 0xf) != kCode) return false;
    has_any = true;
  }
  return has_any;
}

constexpr std::uint64_t kClassBytes = 320;

// The first offset, from `from` on, at which `is_right` accepts the word of each class; 0 if there
// is none.
template <class Test>
std::uint16_t find_in_all(const Values& values,
                          std::span<const NamedClass> named,
                          std::uint64_t from,
                          const Test& is_right) {
  for (std::uint64_t at = from; at < kClassBytes; at += 8) {
    const bool has_all = std::all_of(named.begin(), named.end(), [&](const NamedClass& one) {
      return is_right(one, values.word(one.value + at).value_or(0));
    });
    if (has_all) return small(at);
  }
  return 0;
}

// A class, and its own class, which is a singleton class.
struct Singleton {
  Value attached = 0;
  Slot of_attached;
  Value value = 0;
  Slot slot;
};

std::vector<Singleton> singletons_of(const Values& values, std::span<const NamedClass> named) {
  std::vector<Singleton> found;
  for (const NamedClass& one : named) {
    const auto slot = values.slot(one.value);
    const auto own = slot ? values.slot(slot->of_class()) : std::nullopt;
    if (!own || slot->kind() != Kind::Class || own->kind() != Kind::Class) continue;
    found.push_back({one.value, *slot, slot->of_class(), *own});
  }
  return found;
}

// The offset at which a singleton class references the class that it belongs to.
std::uint16_t find_attached(const Values& values, const std::vector<Singleton>& all) {
  for (std::uint64_t at = 24; at < kClassBytes; at += 8) {
    const bool has_all = std::all_of(all.begin(), all.end(), [&](const Singleton& one) {
      return values.word(one.value + at) == one.attached;
    });
    if (has_all) return small(at);
  }
  return 0;
}

// The flag that singleton classes have and others do not.
bool find_singleton_flag(const std::vector<Singleton>& all, std::uint8_t& found) {
  for (const std::uint8_t flag : {std::uint8_t{0}, std::uint8_t{1}}) {
    const bool has_all = std::all_of(all.begin(), all.end(), [&](const Singleton& one) {
      return one.slot.has(flag) && !one.of_attached.has(flag);
    });
    if (!has_all) continue;
    found = flag;
    return true;
  }
  return false;
}

}  // namespace

bool fit_machine(const Values& values, std::uint64_t vm, Layout& layout) {
  if (!is_reference(vm)) return false;
  Layout tried = layout;
  std::vector<std::uint64_t> places{layout.vm.main_thread};
  for (std::uint64_t at = 24; at <= 96; at += 8) places.push_back(at);
  for (const std::uint64_t at : places) {
    const auto thread = values.word(vm + at);
    if (!thread || !is_reference(*thread)) continue;
    for (const std::uint64_t back : {24U, 32U, 40U}) {
      if (values.word(*thread + back) != vm) continue;
      tried.vm.main_thread = small(at);
      tried.thread.vm = small(back);
      if (!fit_context(values, *thread, tried)) continue;
      layout = tried;
      return true;
    }
  }
  return false;
}

std::string_view fit_threads(const Values& values, std::uint64_t vm, Layout& layout) {
  return ThreadFitter(values, vm, layout).fit();
}

std::string_view fit_code(const Values& values,
                          std::uint64_t vm,
                          std::span<const Value> iseqs,
                          Layout& layout) {
  std::vector<Body> bodies;
  for (const Value iseq : iseqs) {
    const auto slot = values.slot(iseq);
    const auto body = slot ? values.as<Body>(slot->words[2]) : std::optional<Body>();
    if (body && half(*body, layout.code.size) != 0) bodies.push_back(*body);
  }
  if (bodies.size() < 2) return "it has no code";
  if (!fit_bodies(values, std::move(bodies), layout)) return "the names of its code were not found";
  const auto thread = values.word(vm + layout.vm.main_thread);
  const auto context = thread ? values.word(*thread + layout.thread.context) : std::nullopt;
  for (const std::uint64_t bytes : {std::uint64_t{layout.frame.bytes}, std::uint64_t{56},
                                    std::uint64_t{64}, std::uint64_t{72}, std::uint64_t{48}}) {
    if (!context || !has_frames(values, layout, *context, bytes)) continue;
    layout.frame.bytes = small(bytes);
    return {};
  }
  return "the frames of its main thread were not found";
}

bool fit_classes(const Values& values, std::span<const NamedClass> named, Layout& layout) {
  auto& form = layout.of_class;
  form.superclass = find_in_all(values, named, 16, [](const NamedClass& one, Value word) {
    return one.superclass == 0 || word == one.superclass;
  });
  form.name = find_in_all(values, named, 24, [&](const NamedClass& one, Value word) {
    return values.text(word) == one.name;
  });
  const auto pairs = singletons_of(values, named);
  form.attached = form.name == 0 ? std::uint16_t{0} : find_attached(values, pairs);
  return form.superclass != 0 && find_singleton_flag(pairs, form.singleton);
}

}  // namespace heapattach::ruby
