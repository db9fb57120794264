# Ruby threads that wait in many ways, two of them for each other. Prints the backtrace of each as
# Ruby knows it, by the number of its native thread: {"4711":["app.rb:42:in `sleep'", …]}. Then it
# waits until its input ends. Its argument is how many threads wait in each of the other ways (1).
require "json"

FIRST = Mutex.new
SECOND = Mutex.new

def wait_for_both(mine, other, reached)
  mine.synchronize do
    reached << mine
    sleep 0.001 until FIRST.locked? && SECOND.locked?
    other.synchronize {}
  end
end

def deep(levels)
  levels.zero? ? sleep : deep(levels - 1)
end

# Long enough for the second part of its table of lines.
LONG = "def long\n" + Array.new(400) { |n| "  value = #{n} + rand\n" }.join + "  [1].each do\n" \
       "    sleep\n  end\nend\n"
eval(LONG, TOPLEVEL_BINDING, "made up.rb", 1000)

class Worker
  define_method(:defined) { |queue| queue.pop }
  def self.of_class = Thread.stop
  def method_missing(_name) = sleep
  def respond_to_missing?(*) = true
end

reached = Queue.new
PIPES = []  # kept: a collection would close their other ends, and end the threads that read

def waiting
  pipe = IO.pipe
  PIPES << pipe
  {
    sleeping: Thread.new { sleep },
    queue: Thread.new { Worker.new.defined(Queue.new) },
    full: Thread.new { SizedQueue.new(1).push(1).push(2) },
    condition: Thread.new { Mutex.new.then { |one| one.synchronize { ConditionVariable.new.wait(one) } } },
    reading: Thread.new { pipe.first.read },
    deep: Thread.new { deep(500) },
    long: Thread.new { long },
    stopped: Thread.new { Worker.of_class },
    missing: Thread.new { Worker.new.no_such },
    sorting: Thread.new { [2, 1].sort_by { sleep } },
    fiber: Thread.new { Fiber.new { [3].each { |_| sleep } }.resume },
    evaluated: Thread.new { eval("\n\nsleep", binding, "given.rb", 40) },
  }
end

THREADS = {
  first: Thread.new { wait_for_both(FIRST, SECOND, reached) },
  second: Thread.new { wait_for_both(SECOND, FIRST, reached) },
}
THREADS.merge!(waiting)
THREADS.each { |name, thread| thread.name = name.to_s }
JOINING = Thread.new { THREADS[:sleeping].join }
JOINING.name = "joining"
def yielding = Fiber.yield
SUSPENDED = Fiber.new { yielding }
SUSPENDED.resume
MORE = Array.new(Integer(ARGV.fetch(0, 1)) - 1) { waiting.values }
ALL = [*THREADS.values, JOINING, *MORE.flatten]
Thread.pass until ALL.all? { |thread| thread.status == "sleep" }
# Those of the circle sleep shortly before they wait for good.
sleep 0.05 until [:first, :second].all? { |name| THREADS[name].backtrace.first.end_with?("synchronize'") }
traces = ALL.to_h { |thread| [thread.native_thread_id, thread.backtrace] }
puts JSON.generate(traces)
$stdout.flush
$stdin.gets
