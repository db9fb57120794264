// A program whose file is changed while it runs. Compiled with OTHER, it is another program with names as long.
// Prints the tokens of its classes and of a method, as Mono knows them, and how many objects each class has. After
// "ready" it loads the program named by each line that it reads, and makes an object of it.
using System;
using System.Collections.Generic;
using System.Reflection;
using System.Threading;

namespace Depot {
#if OTHER
  public enum Mood { Angry, Happy }
  public class Parrot { public int Weight; public Mood Mood; public Parrot Mother; public static List<Parrot> Nest; }
#else
  public enum Unit { Piece, Metre }
  public class Pallet { public int Height; public Unit Unit; public Pallet Before; public static List<Pallet> Pile; }
#endif

  public static class Program {
#if OTHER
    public static void Squawk() { Parrot.Nest = new List<Parrot> { new Parrot() }; }
    public static void Main() { Squawk(); }
#else
    static void Say(string what, MemberInfo of, int objects) {
      Console.WriteLine("{0}\t{1}\t{2:x}\t{3}", what, of.Name, of.MetadataToken, objects);
    }

    static void Linger() { Thread.Sleep(Timeout.Infinite); }

    public static void Main() {
      Pallet.Pile = new List<Pallet>();
      for (int i = 0; i < 500; i++) Pallet.Pile.Add(new Pallet { Height = i, Before = i == 0 ? null : Pallet.Pile[i - 1] });
      new Thread(Linger) { Name = "lingering", IsBackground = true }.Start();
      Thread.Sleep(200);
      Say("class", typeof(Pallet), Pallet.Pile.Count);
      Say("method", typeof(Program).GetMethod("Linger", BindingFlags.NonPublic | BindingFlags.Static), 0);
      Console.WriteLine("ready");
      for (string line; (line = Console.ReadLine()) != null;) {
        Assembly other = Assembly.LoadFrom(line);
        other.GetType("Depot.Program").GetMethod("Squawk").Invoke(null, null);
        Console.WriteLine("loaded");
      }
    }
#endif
  }
}
