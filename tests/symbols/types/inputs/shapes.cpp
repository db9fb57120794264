// C++ types for the readers of debug information, and a variable of each.
namespace ns {
enum class Level : unsigned char { Low, High = 200 };
template <class T>
struct Order {
  T* item;
  Order* next;
};
struct Outer {
  struct Inner {
    int n;
  };
  struct Secret;
  Inner inner;
  Secret* secret;
  static Outer* instance;
};
struct Outer::Secret {
  Level level;
};
Outer* Outer::instance;
}  // namespace ns
namespace {
struct Cache {
  int n;
};
Cache cache;
}  // namespace

struct Base {
  virtual int act() { return b; }
  int b;
};
struct Other {
  long o;
};
struct Derived : Base, Other {
  int d;
};
struct Shared : virtual Base {
  int s;
};

ns::Order<int> order;
ns::Order<ns::Outer>* orders;
ns::Outer::Inner inner;
ns::Outer::Secret secret;
ns::Level level;
Derived derived;
Shared shared;
Derived& derived_reference = derived;
int Derived::*member;
void (Base::*method)(int);

int use(int n) {
  struct Local {
    int n;
  } l = {n};
  return l.n + cache.n + derived_reference.d;
}

// Names that g++ and clang spell differently.
template <class First, unsigned long Count>
struct Row {
  First first[Count];
};
Row<long, 3> numbers;
Row<ns::Outer*, 2> pointers;
enum Unit { Metre, Mile };
template <Unit U, ns::Level L>
struct Length {
  long n;
};
Length<Mile, ns::Level::High> length;
ns::Order<const int> constant;
