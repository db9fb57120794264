// A report that never reaches its last page: it requests the first one again and again, and keeps
// the rows. It allocates as long as it runs, but never too much for the machine.

#include <new>
#include <vector>

#include <gc/gc.h>
#include <gc/gc_allocator.h>
#include <time.h>
#include <unistd.h>

#include "../targets/talk.h"

namespace {

constexpr int kPages = 10;
constexpr std::size_t kRowsOfPage = 500;
constexpr std::size_t kReadyAt = 50'000;
constexpr std::size_t kMostRows = 1'000'000;

struct Row {
  virtual ~Row() = default;
  [[nodiscard]] virtual int page() const { return page_; }
  explicit Row(int page) : page_(page) {}

 private:
  int page_;
  char text_[40] = "row";
};

using Rows = std::vector<Row*, gc_allocator<Row*>>;

// The fault: the cursor is set back with each page.
int fetch_page(int /*after*/, Rows& rows) {
  const int page = 1;
  for (std::size_t i = 0; i < kRowsOfPage; ++i) {
    rows.push_back(new (GC_MALLOC(sizeof(Row))) Row(page));
  }
  return page;
}

void build_report() {
  Rows rows;
  bool was_ready = false;
  for (int page = 0; page < kPages;) {
    page = fetch_page(page, rows);
    if (rows.size() >= kReadyAt && !was_ready) {
      say("ready");
      was_ready = true;
    }
    const timespec network{0, 2'000'000};
    nanosleep(&network, nullptr);
    if (rows.size() >= kMostRows) pause();
  }
}

}  // namespace

int main() {
  GC_INIT();
  build_report();
}
