// A thread in known methods, whose names it prints; two threads that wait for each other's lock if the first
// argument is "deadlock"; delegates; and classes that have nothing but static fields. After "ready" it waits
// for a line.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Threading;

namespace Game {
  public class Account {
    public string Name;
    public Account(string name) { Name = name; }
  }

  public static class Cache { public static Dictionary<string, Account> Accounts; }
  public static class Limits { public static int Most = 7; }

  public class Screen {
    public Action Changed;
    public void Refresh() { Console.WriteLine("refreshed"); }
    public void Clear() { Console.WriteLine("cleared"); }
  }

  public abstract class Step {
    public abstract int Run(int depth, double[] values);
  }

  public class Deep<T> : Step where T : Step, new() {
    // Has a handler, and so a frame pointer.
    public override int Run(int depth, double[] values) {
      try {
        if (depth == 0) return Bank.Show(values);
        return new T().Run(depth - 1, values) + 1;
      } finally {
        values[0] += depth;
      }
    }
  }

  public class Flat : Step {
    public override int Run(int depth, double[] values) {
      Step next = new Deep<Flat>();
      Func<int, int> call = more => next.Run(depth - 1, values) + more + depth;
      return call((int) values[0]) * 3 + next.GetHashCode();
    }
  }

  public static class Bank {
    static readonly Account first = new Account("first");
    static readonly Account second = new Account("second");
    static readonly Barrier both = new Barrier(2);
    static readonly Screen screen = new Screen();
    static readonly ManualResetEvent never = new ManualResetEvent(false);
    static readonly ManualResetEvent shown = new ManualResetEvent(false);
    static int passed;  // threads that have met, and wait for each other now

    static string NameOf(Type type) {
      string name = type.DeclaringType != null ? NameOf(type.DeclaringType) + "." + type.Name
                                               : type.Namespace + "." + type.Name;
      return name.Split('`')[0];
    }

    public static int Show(double[] values) {
      foreach (StackFrame frame in new StackTrace(false).GetFrames()) {
        var method = frame.GetMethod();
        Console.WriteLine("frame\t" + NameOf(method.DeclaringType) + "\t" + method.Name);
      }
      shown.Set();
      never.WaitOne();
      return (int) values[0];
    }

    static void Transfer(Account from, Account to) {
      lock (from) {
        both.SignalAndWait();
        Interlocked.Increment(ref passed);
        lock (to) { to.Name += from.Name; }
      }
    }

    static bool Waits(Thread thread) { return (thread.ThreadState & System.Threading.ThreadState.WaitSleepJoin) != 0; }

    public static void Main(string[] arguments) {
      Cache.Accounts = new Dictionary<string, Account> { { "first", first }, { "second", second } };
      screen.Changed = screen.Refresh;
      var all = new Screen { Changed = screen.Refresh };
      all.Changed += all.Clear;
      new Thread(() => new Flat().Run(7, new double[4])) { Name = "deep", IsBackground = true }.Start();
      shown.WaitOne();
      if (arguments.Length > 0 && arguments[0] == "deadlock") {
        var payer = new Thread(() => Transfer(first, second)) { Name = "payer with a long name", IsBackground = true };
        var receiver = new Thread(() => Transfer(second, first)) { Name = "receiver", IsBackground = true };
        payer.Start();
        receiver.Start();
        while (Volatile.Read(ref passed) < 2 || !Waits(payer) || !Waits(receiver)) Thread.Sleep(10);
      }
      Console.WriteLine("ready {0}", Limits.Most);
      Console.ReadLine();
      GC.KeepAlive(all);
    }
  }
}
