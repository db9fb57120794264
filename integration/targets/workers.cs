// Threads with static fields of their own that wait for a pulse, two that hold each other up, and a second
// domain. Prints what they are, each line a word and its values, and after "ready" waits for a line.
using System;
using System.Collections.Generic;
using System.Reflection;
using System.Text;
using System.Threading;

namespace Game {
  public class Queue {
    public string Name;
    public Queue(string name) { Name = name; }
  }

  public class Job {
    public string Title;
    public Job(string title) { Title = title; }
  }

  public class Crate { public int Number; }

  public struct Eight { public long A, B, C, D, E, F, G, H; }
  public struct Many { public Eight A, B, C, D, E, F, G, H; }
  public struct Wide {
    public Many A, B, C;
    public Job Last;
  }

  public static class Own {
    [ThreadStatic] public static Job Current;
    [ThreadStatic] public static int Count;
    [ThreadStatic] public static Wide Wide;  // more than the first chunk has room for
  }

  // Each domain has its own.
  public static class Depot {
    static List<Crate> crates;
    static readonly Queue closed = new Queue("closed");

    static void Guard() {
      lock (closed) Monitor.Wait(closed);
    }

    public static void Fill() {
      crates = new List<Crate>();
      for (int i = 0; i < 321; i++) crates.Add(new Crate { Number = i });
      Console.WriteLine("domain\t{0}\t{1}", AppDomain.CurrentDomain.FriendlyName, crates.Count);
      new Thread(Guard) { Name = "guard of the second domain", IsBackground = true }.Start();
      Thread.Sleep(300);
    }
  }

  public static class Program {
    static readonly Queue jobs = new Queue("jobs of domain " + AppDomain.CurrentDomain.Id);  // each has one
    static readonly Queue gate = new Queue("gate");

    static void SetOwn(string who) {
      Own.Current = new Job("current of " + who);
      Own.Count = 7;
      Own.Wide.C.H.H = 3;
      Own.Wide.Last = new Job("last of " + who);
      Console.WriteLine("own\t{0}\t{1}\t{2}\t{3}", Thread.CurrentThread.Name ?? "", Thread.CurrentThread.ManagedThreadId,
                        Own.Current.Title, Own.Wide.Last.Title);
    }

    static void Work() {
      SetOwn(Thread.CurrentThread.Name);
      lock (jobs) {
        Console.WriteLine("waits\t{0}\t{1}", Thread.CurrentThread.Name, jobs.Name);
        Monitor.Wait(jobs);
      }
    }

    // Holds the gate while it waits for jobs, which only somebody who comes through the gate would add.
    static void Hold() {
      lock (gate) lock (jobs) {
        Console.WriteLine("waits\t{0}\t{1}", Thread.CurrentThread.Name, jobs.Name);
        Monitor.Wait(jobs, 3600 * 1000);
      }
    }

    static void Add() {
      lock (gate) lock (jobs) Monitor.Pulse(jobs);
    }

    static void Start(ThreadStart run, string name) {
      new Thread(run) { Name = name, IsBackground = true }.Start();
      Thread.Sleep(200);
    }

    public static void Main(string[] arguments) {
      Console.OutputEncoding = new UTF8Encoding(false);
      if (arguments.Length > 0 && arguments[0] == "second") {
        Depot.Fill();
        return;
      }
      Start(Work, "worker with a long name, 1");
      Start(Work, "wörker 2");
      Start(() => { SetOwn("nobody"); Thread.Sleep(Timeout.Infinite); }, null);
      if (arguments.Length > 0 && arguments[0] == "gate") {
        Start(Hold, "holder");
        Start(Add, "adder");
      }
      AppDomain.CreateDomain("second").ExecuteAssembly(Assembly.GetEntryAssembly().Location, new[] { "second" });
      Console.WriteLine("ready");
      Console.ReadLine();
    }
  }
}
