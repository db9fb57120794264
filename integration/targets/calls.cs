// A thread "calls" that does nothing but call small methods and return from them. After "ready" it waits for a
// line.
using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Game {
  public static class Calls {
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Leaf(int number) { return number * 3; }

    // Needs registers that it must preserve.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Middle(int a, int b, int c) {
      int sum = Leaf(a) + b;
      sum += Leaf(b) * c;
      return sum + Leaf(c) * a;
    }

    // Has a handler, and so a frame pointer.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Outer(int number) {
      try {
        return Middle(number, number + 1, number + 2);
      } catch (ArithmeticException) {
        return 0;
      }
    }

    static void Run() {
      for (int number = 0;; ++number) Outer(number);
    }

    public static void Main() {
      new Thread(Run) { Name = "calls", IsBackground = true }.Start();
      Thread.Sleep(300);
      Console.WriteLine("ready");
      Console.ReadLine();
    }
  }
}
