// Sessions of a class that has a derived one. Reads a number, makes that many objects of each kind in place
// of the earlier ones, collects, prints "made", and so on; at 0 it prints how many sessions it has.
using System;
using System.Collections.Generic;

namespace Shop {
  public struct Place { public string Shelf; public int Row; }

  public class Item {
    public string Title;
    public int Price;
  }

  public class Session {
    public string User { get; set; }
    public List<Item> Items = new List<Item>(3);
    public int Visits;
  }

  public class Admin : Session {
    public object Level;
    public Place[] Places;
  }

  public static class Store {
    public static Dictionary<int, Session> All;
    public static Func<int> Count;
  }

  public static class Program {
    static Session Make(int i) {
      var session = new Session { User = "guest " + i, Visits = i };
      session.Items.Add(new Item { Title = "book " + i, Price = i });
      return session;
    }

    static void Fill(int count) {
      Store.All = null;
      var all = new Dictionary<int, Session>();
      for (int i = 0; i < count; i++) {
        all[2 * i] = Make(i);
        all[2 * i + 1] = new Admin {
          User = "admin " + i, Level = (long) i, Places = new[] { new Place { Shelf = "shelf " + i, Row = i } }
        };
      }
      Store.All = all;
      Store.Count = () => all.Count;
    }

    public static void Main() {
      for (int n; (n = int.Parse(Console.ReadLine())) > 0;) {
        Fill(n);
        GC.Collect();
        Console.WriteLine("made");
        Console.Out.Flush();
      }
      Console.WriteLine(Store.Count());
      Console.Out.Flush();
    }
  }
}
