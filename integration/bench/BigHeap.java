/** The shape of big_heap.c on a Java heap: `java BigHeap.java COUNT`; prints "ready", then waits. */
public final class BigHeap {
  private static final int LISTS = 1000;
  private static final int RECENT = 65536;

  /** 48 bytes with compressed references. */
  static class Item {
    Item next;
    Item other;
    long first, second, third;
  }

  /** 64 bytes. */
  static final class LargeItem extends Item {
    long fourth, fifth;
  }

  private static final Item[] lists = new Item[LISTS];
  private static long state = 88172645463325252L;

  private static long nextRandom() {
    state ^= state << 13;
    state ^= state >>> 7;
    state ^= state << 17;
    return state;
  }

  private static void build(int count) {
    final Item[] recent = new Item[RECENT];
    for (int i = 0; i < count; i++) {
      final Item made = i % 2 == 0 ? new Item() : new LargeItem();
      made.next = lists[i % LISTS];
      made.other = recent[(int) Long.remainderUnsigned(nextRandom(), RECENT)];
      made.first = i;
      lists[i % LISTS] = made;
      recent[i % RECENT] = made;
    }
  }

  public static void main(String[] arguments) throws Exception {
    build(Integer.parseInt(arguments[0]));
    System.out.println("ready");
    while (System.in.read() >= 0) {}
  }
}
