#pragma once

// Makes objects of a few sizes. A third of them stay alive, so that a collection leaves blocks to
// be swept later. For targets whose live set is known; must be included after gc.h.

enum { kBallast = 3000 };

static __attribute__((noinline)) void make_ballast(void) {
  static const size_t sizes[] = {40, 88, 200, 500};
  void** kept = GC_MALLOC_UNCOLLECTABLE(kBallast / 3 * sizeof *kept);
  for (int i = 0; i < kBallast; ++i) {
    void** object = GC_MALLOC(sizes[i / 3 % 4]);
    if (i % 3 == 0) kept[i / 3] = object;
  }
}
