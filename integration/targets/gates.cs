// Threads that wait inside the library's own locks, in an event, and for a lock object that only its owner knows.
// Prints each thread's name, the class that it waits for, a condition that finds the object, and the field through
// which it is waited for. After "ready" it waits for a line.
using System;
using System.Threading;

namespace Game {
  public class Door {
    public int Number;
    readonly object gate = new object();
    public void Pass() { lock (gate) Monitor.Wait(gate); }
  }

  public static class Program {
    static readonly Door[] doors = { new Door { Number = 1 }, new Door { Number = 2 } };
    static readonly SemaphoreSlim tickets = new SemaphoreSlim(0, 77);
    static readonly SemaphoreSlim other = new SemaphoreSlim(3, 5);
    static readonly ReaderWriterLockSlim table = new ReaderWriterLockSlim();  // read by the main thread
    static readonly ReaderWriterLockSlim closed = new ReaderWriterLockSlim();  // written by the main thread
    static readonly ManualResetEventSlim start = new ManualResetEventSlim(false, 9);
    static readonly EventWaitHandle bell = new EventWaitHandle(false, EventResetMode.AutoReset);

    static void Start(ThreadStart run, string name, string of, string condition, string field) {
      var thread = new Thread(run) { Name = name, IsBackground = true };
      thread.Start();
      while ((thread.ThreadState & ThreadState.WaitSleepJoin) == 0) Thread.Sleep(10);
      Console.WriteLine("waits\t{0}\t{1}\t{2}\t{3}", name, of, condition, field);
    }

    public static void Main() {
      other.Wait();
      table.EnterReadLock();
      closed.EnterWriteLock();
      Start(() => tickets.Wait(), "buyer", "System.Threading.SemaphoreSlim", "[m_maxCount == 77]", "m_lockObj");
      Start(() => table.EnterWriteLock(), "writer", "System.Threading.ReaderWriterLockSlim", "[numWriteWaiters == 1]", "writeEvent");
      Start(() => closed.EnterReadLock(), "reader", "System.Threading.ReaderWriterLockSlim", "[numReadWaiters == 1]", "readEvent");
      Start(() => start.Wait(), "runner", "System.Threading.ManualResetEventSlim", "", "m_lock");
      Start(() => bell.WaitOne(), "listener", "System.Threading.EventWaitHandle", "", "");
      Start(() => doors[1].Pass(), "guest", "Game.Door", "[Number == 2]", "gate");
      Console.WriteLine("ready");
      Console.ReadLine();
    }
  }
}
