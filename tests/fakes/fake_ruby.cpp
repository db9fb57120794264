#include "tests/fakes/fake_ruby.h"

#include <memory>
#include <span>

namespace heapattach {

namespace {

constexpr std::uint64_t kStructures = 0x10000000;
constexpr std::uint64_t kStructureBytes = 0x10000;
constexpr std::uint64_t kPage = 0x20000000;
constexpr std::uint32_t kSlots = 400;

constexpr std::uint64_t kUser1 = 1U << 13;
constexpr std::uint64_t kClassPath = 240 << 4;
constexpr std::uint64_t kSynchronize = 241 << 4;
constexpr std::uint64_t kVariable = 242 << 4;
constexpr std::uint64_t kShapeOfClasses = 20;  // of classes that have only a name

}  // namespace

FakeRuby::FakeRuby(const std::string& version)
    : slot_bytes_(40), next_(kStructures), next_slot_(kPage + 8) {
  machine.layout = std::make_shared<ruby::Layout>(*ruby::layout_of(version));
  machine.release = version;
  const ruby::Layout& form = *machine.layout;
  if (form.values.is_wide) slot_bytes_ = 160;
  memory.map_zero(RemoteAddr{kStructures}, kStructureBytes);
  memory.map_zero(RemoteAddr{kPage}, form.page_bytes);
  machine.vm = take(2048);
  machine.objspace = take(1300);
  if (form.of_class.name == 0) machine.class_path = kClassPath;
  page_record = take(form.page.bytes);
  const std::uint64_t sorted = take(16);
  put(sorted, page_record);
  put(machine.vm + form.vm.objspace, machine.objspace);
  put(machine.objspace + form.objspace.sorted, sorted);
  put(machine.objspace + form.objspace.pages, 1);
  put(machine.objspace + form.objspace.sorted_length, 2);
  put(machine.objspace + form.objspace.range, kPage);
  put(machine.objspace + form.objspace.range + 8, kPage + form.page_bytes);
  put(page_record + form.page.slot_size, slot_bytes_ | kSlots << 16);
  put(page_record + form.page.start, kPage + 8);
  put(kPage, page_record);
  make_names();
  if (form.shape.bytes != 0) make_shapes();
  make_threads();
  session_class = class_named("Blog::Session");
  for (int i = 0; i < 10; ++i) slot(1 | kUser1, session_class);
}

std::uint64_t FakeRuby::take(std::uint64_t bytes) {
  const std::uint64_t at = next_;
  next_ += (bytes + 15) / 16 * 16;
  return at;
}

std::uint64_t FakeRuby::slot(std::uint64_t flags, std::uint64_t of_class) {
  const std::uint64_t at = next_slot_;
  next_slot_ += slot_bytes_;
  put(at, flags);
  put(at + 8, of_class);
  return at;
}

std::uint64_t FakeRuby::string(const std::string& text) {
  const std::uint64_t bytes = take(text.size() + 1);
  memory.put_bytes(RemoteAddr{bytes}, std::as_bytes(std::span(text)));
  const std::uint64_t at = slot(5 | kUser1, 0);
  put(at + 16, text.size());
  put(at + 24, bytes);
  put(at + 32, text.size());
  return at;
}

std::uint64_t FakeRuby::array(const std::vector<std::uint64_t>& elements) {
  const std::uint64_t words = take(elements.size() * 8);
  memory.put_bytes(RemoteAddr{words}, std::as_bytes(std::span(elements)));
  const std::uint64_t at = slot(7, 0);
  put(at + 16, elements.size());
  put(at + 24, elements.size());
  put(at + 32, words);
  return at;
}

std::uint64_t FakeRuby::class_named(const std::string& name) {
  if (const auto in_class = machine.layout->of_class.name; in_class != 0) {
    const std::uint64_t text = string(name);
    const std::uint64_t at = slot(2, 0);
    put(at + in_class, text);
    return at;
  }
  if (const auto in_class = machine.layout->of_class.variables; in_class != 0) {
    const std::uint64_t buffer = array({string(name)});
    const std::uint64_t at = slot(2 | kShapeOfClasses << 32, 0);
    put(at + in_class, word(buffer + 32));
    return at;
  }
  const std::uint64_t table = this->table({{kClassPath, string(name)}});
  const std::uint64_t extension = take(112);
  put(extension + 8, table);
  const std::uint64_t at = slot(2, 0);
  put(at + 24, extension);
  return at;
}

std::uint64_t FakeRuby::table(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& pairs,
                              bool has_bins) {
  const std::uint64_t entries = take(pairs.size() * 24);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    put(entries + i * 24, 1);
    put(entries + i * 24 + 8, pairs[i].first);
    put(entries + i * 24 + 16, pairs[i].second);
  }
  const std::uint64_t at = take(56);
  std::uint64_t power = 2;
  while (std::uint64_t{1} << power < pairs.size()) ++power;
  put(at, power);
  put(at + 16, pairs.size());
  put(at + (has_bins ? 40 : 32), pairs.size());
  put(at + (has_bins ? 48 : 40), entries);
  return at;
}

void FakeRuby::make_names() {
  std::vector<std::uint64_t> names(1024);
  names[240 * 2] = string("__classpath__");
  names[241 * 2] = string("synchronize");
  names[242 * 2] = string("@name");
  machine.names = array({array(names)});
}

void FakeRuby::make_shapes() {
  const auto& form = machine.layout->shape;
  constexpr std::uint64_t kFirst = 5;
  constexpr std::uint64_t kCount = kShapeOfClasses;
  constexpr std::uint64_t kRoom = 200;  // as in a process, the memory after the shapes is unused
  const std::uint64_t shapes = take(kRoom * form.bytes);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const std::uint64_t parent = i < kFirst ? 0xffffffff : i < 8 ? 0 : i - 1;
    const std::uint64_t type = i < kFirst ? 0 : i == 6 ? form.complex_type : 1;
    put(shapes + i * form.bytes + form.type, parent << 32 | type);
    if (type != 1) continue;
    put(shapes + i * form.bytes + 8, kVariable);
    put(shapes + i * form.bytes + form.index, i < 8 ? 1 : i - 6);
  }
  put(shapes + kFirst * form.bytes + form.index, std::uint64_t{15} << 32 | 1);
  const std::uint64_t of_classes = shapes + kShapeOfClasses * form.bytes;
  put(of_classes + form.type, 1);
  put(of_classes + 8, kClassPath);
  put(of_classes + form.index, 1);
  machine.shapes = shapes;
}

// Makes a code object of three instructions: the first two are on line 10, the third on line 12.
std::uint64_t FakeRuby::code(const std::string& file, const std::string& function) {
  const auto& form = machine.layout->code;
  const std::uint64_t body = take(400);
  const std::uint64_t lines = take(24);
  put(lines, 10);
  put(lines + 8, std::uint64_t{12} << 32);
  const std::uint64_t index = take(8);
  put(index, 1 | 1 << 7 | 2 << 14 | 2 << 21);
  put(body, std::uint64_t{4} << 32);
  put(body + form.code, take(32));
  put(body + form.path, string(file));
  put(body + form.path + 8, string(function));
  put(body + form.label, string(function));
  put(body + form.first_line, form.first_line_is_value ? 9 << 1 | 1 : 9);
  put(body + form.lines, lines);
  put(body + form.line_count, 2);
  put(body + form.line_index, index);
  const std::uint64_t at = slot(26 | 7 << 12, 0);
  put(at + 16, body);
  return at;
}

std::uint64_t FakeRuby::method(std::uint64_t owner, std::uint64_t id) {
  const std::uint64_t definition = take(48);
  put(definition + machine.layout->method.original_id, id);
  const std::uint64_t at = slot(26 | 6 << 12, 0);
  put(at + 16, definition);
  put(at + 32, owner);
  return at;
}

std::uint64_t FakeRuby::fiber(std::uint64_t thread, const std::string& function) {
  const ruby::Layout& form = *machine.layout;
  constexpr std::uint64_t kWords = 64;
  const std::uint64_t at = take(form.fiber.bytes);
  const std::uint64_t context = at + form.fiber.context;
  const std::uint64_t stack = take(kWords * 8);
  const std::uint64_t frame = form.frame.bytes;
  const std::uint64_t end = stack + kWords * 8 - 2 * frame;  // two placeholders
  put(context + form.context.stack, stack);
  put(context + form.context.stack_words, kWords);
  put(context + form.context.frame, end - 2 * frame);
  put(context + form.context.fiber, at);
  put(context + form.context.thread, thread);
  const std::uint64_t native = end - 2 * frame;
  put(native + form.frame.environment, stack + 24);
  put(stack + 24, 0x55550001);
  put(stack + 8, method_);
  const std::uint64_t own = end - frame;
  const std::uint64_t iseq = code("app.rb", function);
  put(own + form.frame.iseq, iseq);
  put(own + form.frame.pc, word(word(iseq + 16) + form.code.code) + 24);
  put(own + form.frame.environment, stack + 32);
  return at;
}

std::uint64_t FakeRuby::thread(std::uint64_t ractor, int tid, std::uint64_t of_fiber) {
  const ruby::Layout& form = *machine.layout;
  const std::uint64_t at = word(of_fiber + form.fiber.context + form.context.thread);
  put(at + 24, ractor);
  put(at + form.thread.vm, machine.vm);
  put(at + form.thread.context, of_fiber + form.fiber.context);
  std::uint64_t native = at;
  if (form.thread.native != 0) {
    native = take(64);
    put(at + form.thread.native, native);
  }
  put(native + form.thread.tid, static_cast<std::uint64_t>(tid));
  return at;
}

void FakeRuby::make_threads() {
  const ruby::Layout& form = *machine.layout;
  method_ = method(class_named("Thread::Mutex"), kSynchronize);
  const std::uint64_t ractor = take(640);
  first_thread = take(456);
  second_thread = take(456);
  const std::uint64_t first_fiber = fiber(first_thread, "first");
  const std::uint64_t second_fiber = fiber(second_thread, "block in second");
  thread(ractor, 11, first_fiber);
  thread(ractor, 12, second_fiber);
  const std::uint64_t resumed = fiber(first_thread, "resumed");
  put(resumed + form.fiber.previous, first_fiber);
  put(first_thread + form.thread.context, resumed + form.fiber.context);
  // Each thread waits for the Mutex that the other thread's fiber holds.
  for (const auto& [waiter, owner] :
       {std::pair(first_thread, second_fiber), std::pair(second_thread, resumed)}) {
    const std::uint64_t data = take(32);
    put(data, owner);
    const std::uint64_t mutex = slot(12, 0);
    put(mutex + 24, 1);
    put(mutex + 32, data);
    put(waiter + form.thread.awaited_mutex, mutex);
  }
  const std::uint64_t suspended = fiber(first_thread, "suspended");
  suspended_fiber = slot(12, 0);
  const std::uint64_t type = take(16);
  put(type, type + 8);
  memory.put_bytes(RemoteAddr{type + 8}, std::as_bytes(std::span("fiber", 6)));
  put(suspended_fiber + 16, type);
  put(suspended_fiber + 24, 1);
  put(suspended_fiber + 32, suspended);
  put(suspended + form.fiber.object, suspended_fiber);
  put(suspended + form.fiber.status, 2);
  threads_head = ractor + form.ractor.threads;
  put(threads_head, first_thread);
  put(first_thread, second_thread);
  put(second_thread, threads_head);
  put(ractor + form.ractor.thread_count, 2);
  put(machine.vm + form.vm.ractors, ractor + form.ractor.node);
  put(ractor + form.ractor.node, machine.vm + form.vm.ractors);
  put(machine.vm + form.vm.main_thread, first_thread);
  put(machine.vm + form.vm.waiting_descriptors, machine.vm + form.vm.waiting_descriptors);
}

std::vector<std::uint64_t> FakeRuby::used_words() const {
  std::vector<std::uint64_t> used;
  for (std::uint64_t at = kStructures; at < next_; at += 8) {
    if (word(at) != 0) used.push_back(at);
  }
  for (std::uint64_t at = kPage; at < next_slot_; at += 8) {
    if (word(at) != 0) used.push_back(at);
  }
  return used;
}

std::uint64_t FakeRuby::word(std::uint64_t at) const {
  return memory.read_as<std::uint64_t>(RemoteAddr{at}).value();
}

}  // namespace heapattach
