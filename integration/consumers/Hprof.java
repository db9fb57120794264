// What VisualVM's own reader makes of a heap dump: java -cp JARS Hprof.java FILE. Prints objects,
// bytes and name of each class that has objects.
import java.io.File;
import org.graalvm.visualvm.lib.jfluid.heap.Heap;
import org.graalvm.visualvm.lib.jfluid.heap.HeapFactory;
import org.graalvm.visualvm.lib.jfluid.heap.JavaClass;

class Hprof {
  public static void main(String[] arguments) throws Exception {
    Heap heap = HeapFactory.createHeap(new File(arguments[0]));
    for (Object each : heap.getAllClasses()) {
      JavaClass type = (JavaClass) each;
      if (type.getInstancesCount() == 0) continue;
      String name = type.getName();
      if (name.endsWith("[]")) name = name.substring(0, name.length() - 2);
      System.out.println(
          type.getInstancesCount() + "\t" + type.getAllInstancesSize() + "\t" + name);
    }
    System.out.println("roots\t" + heap.getGCRoots().size());
  }
}
