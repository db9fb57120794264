// Classes with every kind of type_info, in a library that keeps only the symbol of make_object().
namespace shop {

struct Job {
  virtual ~Job() = default;
  virtual int run() { return 1; }
  long number = 1;
};
struct Logged {
  virtual ~Logged() = default;
  virtual int log() { return 2; }
};
struct MailJob : Job {
  int run() override { return 3; }
};
struct LoggedJob : Job, Logged {
  int run() override { return 4; }
};
struct SharedJob : virtual Job {
  int run() override { return 5; }
};
template <class Item>
struct Queue {
  virtual ~Queue() = default;
  Item* items[4] = {};
};
struct Abstract {
  virtual ~Abstract() = default;
  virtual int run() = 0;
};
struct Concrete : private Abstract {
  int run() override { return 6; }
};

}  // namespace shop

namespace {

struct Hidden {
  virtual ~Hidden() = default;
  virtual int run() { return 7; }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) void* make_object(int which) {
  switch (which) {
    case 0: return new shop::Job;
    case 1: return new shop::MailJob;
    case 2: return new shop::LoggedJob;
    case 3: return new shop::SharedJob;
    case 4: return new shop::Queue<long>;
    case 5: return new shop::Concrete;
    case 6: return new Hidden;
    default: return nullptr;
  }
}
