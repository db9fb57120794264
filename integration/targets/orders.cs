// Orders with a field of each kind of number, and a condition on each with how many orders meet it. After
// "ready" it waits for a line.
using System;
using System.Collections.Generic;

namespace Shop {
  public enum State : byte { New, Paid, Sent = 200 }
  public enum Route : long { Unknown = -1, Air = 1L << 40 }
  [Flags] public enum Marks : ushort { None = 0, Fragile = 1, Cold = 2, Rush = 0x8000 }

  public struct Size { public short Width; public long Depth; }

  public class Order {
    public int Total;
    public long Id;
    public ulong Serial;
    public float Rate;
    public double Price;
    public bool IsPaid;
    public char Grade;
    public State State;
    public Route Route;
    public Marks Marks;
    public decimal Amount;
    public int? Rank;
    public Size Size;
    public Many Many;  // an enumeration of 1500 values, 0, 3, 6 …, which CMake writes
    public object Boxed;
    public string Name;
    public Order Before;
  }

  // More numbers than are read of one object.
  public class Wide {
    public int A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Last;
  }

  public static class Program {
    static readonly Wide wide = new Wide { Last = 7 };
    static readonly List<Order> all = new List<Order>();

    static Order Make(int i) {
      return new Order {
        Total = i - 20, Id = (long) i << 40, Serial = ulong.MaxValue - (ulong) i, Rate = i / 4f, Price = -i / 8.0,
        IsPaid = i % 3 == 0, Grade = i % 2 == 0 ? 'é' : 'b', State = i < 5 ? State.Sent : State.Paid,
        Route = i % 2 == 0 ? Route.Air : Route.Unknown, Marks = i < 9 ? Marks.Rush : i < 12 ? Marks.Cold | Marks.Rush : 0,
        Amount = i == 9 ? decimal.MaxValue : (i - 50) / 100m, Rank = i % 4 == 0 ? (int?) null : i,
        Size = new Size { Width = (short) -i, Depth = -((long) i << 33) }, Many = (Many) (4497 - 3 * i), Boxed = i == 77 ? (object) State.New : i * 10, Name = "order " + i
      };
    }

    static void Say(string condition, Predicate<Order> meets) {
      Console.WriteLine("Shop.Order[{0}]\t{1}", condition, all.FindAll(meets).Count);
    }

    public static void Main() {
      for (int i = 0; i < 100; i++) all.Add(Make(i));
      for (int i = 1; i < 100; i++) all[i].Before = all[i - 1];
      Say("Total > 30", order => order.Total > 30);
      Say("Total == -7", order => order.Total == -7);
      Say("Total < 0 and Total != -20", order => order.Total < 0 && order.Total != -20);
      Say("Id >= 76965813944320", order => order.Id >= 76965813944320);
      Say("Serial > 18446744073709551610", order => order.Serial > 18446744073709551610);
      Say("Rate <= 2.25", order => order.Rate <= 2.25);
      Say("Price == -3.125", order => order.Price == -3.125);
      Say("IsPaid == true", order => order.IsPaid);
      Say("Grade == \"é\"", order => order.Grade == 'é');
      Say("State == \"Sent\"", order => order.State.ToString() == "Sent");
      Say("Route == \"Unknown\"", order => order.Route.ToString() == "Unknown");
      Say("Route == \"Air\"", order => order.Route.ToString() == "Air");
      Say("Marks == \"Rush\"", order => order.Marks.ToString() == "Rush");
      Say("Marks != \"None\"", order => order.Marks.ToString() != "None");
      Say("Marks == \"32770\"", order => order.Marks == (Marks.Cold | Marks.Rush));  // has no name
      Say("Many == \"Value1422\"", order => order.Many.ToString() == "Value1422");
      Say("Many != \"Value1499\"", order => order.Many.ToString() != "Value1499");
      Say("Boxed == \"New\"", order => order.Boxed.ToString() == "New");
      Say("Amount == 0.05", order => order.Amount == 0.05m);
      Say("Amount < -0.1", order => order.Amount < -0.1m);
      Say("Amount > 79228162514264337593543950334", order => order.Amount > 79228162514264337593543950334m);
      Say("Rank.hasValue == false", order => order.Rank == null);
      Say("Rank.value > 90", order => order.Rank > 90);
      Say("Size.Width < -90", order => order.Size.Width < -90);
      Say("Size.Depth == -171798691840", order => order.Size.Depth == -171798691840);
      Say("Boxed >= 500", order => order.Boxed is int && (int) order.Boxed >= 500);
      Say("Name == \"order 7\" or Total == 0", order => order.Name == "order 7" || order.Total == 0);
      Say("Before.Total > 70", order => order.Before != null && order.Before.Total > 70);
      Console.WriteLine("ready");
      Console.ReadLine();
    }
  }
}
