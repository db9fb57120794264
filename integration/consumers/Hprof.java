// Reads a heap dump with VisualVM's own reader: java -cp JARS Hprof.java FILE. Prints objects, bytes
// and name of each class that has objects, except classes for the reader's own sake. It also computes
// what each retains, and the path from a root to the largest.
import java.io.File;
import org.graalvm.visualvm.lib.jfluid.heap.Heap;
import org.graalvm.visualvm.lib.jfluid.heap.HeapFactory;
import org.graalvm.visualvm.lib.jfluid.heap.Instance;
import org.graalvm.visualvm.lib.jfluid.heap.JavaClass;

class Hprof {
  public static void main(String[] arguments) throws Exception {
    Heap heap = HeapFactory.createHeap(new File(arguments[0]));
    for (Object each : heap.getAllClasses()) {
      JavaClass type = (JavaClass) each;
      if (type.getInstancesCount() == 0) continue;
      String name = type.getName();
      if (name.startsWith("java.")) continue;
      if (name.endsWith("[]")) name = name.substring(0, name.length() - 2);
      System.out.println(
          type.getInstancesCount() + "\t" + type.getAllInstancesSize() + "\t" + name);
    }
    if (heap.getSystemProperties() == null) throw new Exception("no system properties");
    for (Object each : heap.getBiggestObjectsByRetainedSize(3)) {
      Instance largest = (Instance) each;
      if (largest.getRetainedSize() <= 0) throw new Exception("retains nothing");
      largest.getNearestGCRootPointer();
    }
    System.out.println("roots\t" + heap.getGCRoots().size());
  }
}
