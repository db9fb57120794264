import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** ticking_heap.c on a Java heap: `java TickingHeap MEGABYTES`, which answers "gap". */
public final class TickingHeap {
  private static final int WORDS = 4096 / Long.BYTES;
  private static final long TICK_NANOSECONDS = 100_000;

  private static Object[] newest;
  private static final AtomicLong longest = new AtomicLong();

  private static void tick() {
    long last = System.nanoTime();
    for (; ; ) {
      LockSupport.parkNanos(TICK_NANOSECONDS);
      final long now = System.nanoTime();
      if (now - last > longest.get()) longest.set(now - last);
      last = now;
    }
  }

  public static void main(String[] arguments) throws Exception {
    final int count = Integer.parseInt(arguments[0]) * 256;
    for (int i = 0; i < count; i++) {
      final long[] numbers = new long[WORDS - 6]; // with its header and that of the pair, 4 KiB
      java.util.Arrays.fill(numbers, i % 1000);
      newest = new Object[] {newest, numbers};
    }
    final Thread ticking = new Thread(TickingHeap::tick);
    ticking.setDaemon(true);
    ticking.start();
    System.out.println("ready");
    final BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
    while (questions.readLine() != null) {
      Thread.sleep(2); // for the tick that ends a gap
      System.out.printf("%.3f%n", longest.getAndSet(0) / 1e6);
    }
  }
}
