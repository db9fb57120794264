# Ruby programs that do what few programs do, by what the argument says. Each prints what it has:
# "ready MyList=10 …". Then it waits until its input ends.

def ready(**counts)
  $stdout.puts("ready #{counts.map { |name, count| "#{name}=#{count}" }.join(" ")}")
  $stdout.flush
  $stdin.gets
end

class Note
  attr_reader :number

  def initialize(number) = @number = number
end

# Variables of objects that are more than their variables: Ruby keeps them elsewhere.
module Labelled
  attr_accessor :label, :note, :count, :state

  def self.fill(one, number)
    one.label = "label #{number % 5}"
    one.note = Note.new(number)
    one.count = number
    one.state = number.even? ? :even : :"not even"
    one
  end
end

class MyList < Array; include Labelled; end
class MyTable < Hash; include Labelled; end
class MyText < String; include Labelled; end
class MyRange < Range; include Labelled; end
MyPair = Struct.new(:left, :right) { include Labelled }
class MyPlain; include Labelled; end
class Unused; end

def labelled
  made = Array.new(60) do |number|
    one = [-> { MyList.new([1, Note.new(-1)]) }, -> { MyTable[:key, Note.new(-1)] },
           -> { MyText.new("text") }, -> { MyPair.new(Note.new(-1), 2) },
           -> { MyPlain.new }, -> { MyRange.allocate }][number % 6].call
    Labelled.fill(one, number)
  end
  kinds = made.group_by(&:class)
  counts = kinds.flat_map do |kind, all|
    [[kind.name, all.size],
     ["#{kind}.label", all.count { |one| one.label == "label 3" }],
     ["#{kind}.count", all.count { |one| one.count > 20 }],
     ["#{kind}.note", all.count { |one| one.note.number > 30 }],
     ["#{kind}.even", all.count { |one| one.state == :even }],
     ["#{kind}.odd", all.count { |one| one.state == :"not even" }]]
  end
  [made, counts.to_h.transform_keys(&:to_sym)]
end

# The native thread's number, once the thread is as Ruby says.
def settled(thread)
  sleep 0.01 until thread.native_thread_id && yield
  thread.native_thread_id
end

case ARGV.fetch(0)
when "labelled"
  KEPT, counts = labelled
  ready(Unused: ObjectSpace.each_object(Unused).count, **counts)
when "redefined", "prepended"  # methods of the core
  KEPT, counts = labelled
  CONSTANT = Note.new(99)
  line = "ready #{counts.map { |name, count| "#{name}=#{count}" }.join(" ")}"
  if ARGV.fetch(0) == "redefined"
    class Module
      # Ruby's own library and its rescues need it for these.
      def ===(other) = [Exception, IO].any? { |one| one >= self } && other.is_a?(self)
      def name = "Wrong"
      def to_s = "Wrong"
    end
    class Object; def class = String; end
    class Integer; def bit_length = 100_000; end
    class Array; def join(*) = "wrong"; end
    module Kernel
      alias earlier_to_s to_s
      def to_s = "wrong"
    end
  else
    wrong = Module.new do
      def is_a?(_kind) = false
      def bit_length = 100_000
      def join(*) = "wrong"
    end
    [Integer, Array, Kernel].each { |one| one.prepend(wrong) }
  end
  $stdout.puts(line)
  $stdout.flush
  $stdin.gets
when "keeps_lock"  # C code sleeps and keeps Ruby's lock; others sleep, and want it
  require "fiddle"
  nap = Fiddle::Function.new(Fiddle::Handle::DEFAULT["sleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT,
                             need_gvl: true)
  wants = Array.new(2) { |number| Thread.new { loop { sleep 0.001 } }.tap { |one| one.name = "wants#{number}" } }
  wants.each { |one| settled(one) { one.status == "sleep" } }
  $stdout.puts("ready holder=#{Thread.main.native_thread_id}")
  $stdout.flush
  nap.call(1000)
when "fiber_lock"  # a suspended fiber holds a Mutex that a thread wants
  lock = Mutex.new
  def holding(lock) = lock.synchronize { Fiber.yield }
  owner = Thread.new do
    kept = Fiber.new { holding(lock) }
    kept.resume
    Queue.new.pop
    kept
  end
  owner.name = "owner"
  settled(owner) { owner.status == "sleep" && lock.locked? }
  Thread.new { loop { sleep 1 } }  # Ruby itself sees no deadlock while another thread lives
  wants = Thread.new { lock.synchronize {} }
  wants.name = "wants"
  settled(wants) { wants.status == "sleep" && wants.backtrace.first.include?("synchronize") }
  ready(owner: owner.native_thread_id, wants: wants.native_thread_id)
when "two_locks"  # a suspended fiber holds one Mutex of a thread, and its running fiber another
  locks = Array.new(2) { Mutex.new }
  owner = Thread.new do
    kept = Fiber.new { locks[0].synchronize { Fiber.yield } }
    kept.resume
    locks[1].synchronize { Queue.new.pop }
    kept
  end
  owner.name = "owner"
  settled(owner) { owner.status == "sleep" && locks.all?(&:locked?) }
  Thread.new { loop { sleep 1 } }
  wants = [0, 0, 1].map { |one| Thread.new { locks[one].synchronize {} } }
  wants.each { |one| settled(one) { one.status == "sleep" && one.backtrace.first.include?("synchronize") } }
  ready(owner: owner.native_thread_id)
when "two_ractors"  # in each of them, C code sleeps and keeps the ractor's lock; others want it
  def doze = syscall(RUBY_PLATFORM.start_with?("x86_64") ? 271 : 73, 0, 0, 0, 0, 0)  # ppoll
  def add_waiting(count)
    Array.new(count) { Thread.new { loop { sleep 0.001 } } }.each { |one| Thread.pass until one.status == "sleep" }
  end
  other = Ractor.new do
    add_waiting(1)
    Ractor.yield(Thread.current.native_thread_id)
    doze
  end
  add_waiting(2)
  $stdout.puts("ready first=#{Thread.main.native_thread_id} other=#{other.take}")
  $stdout.flush
  doze
when "titled"  # as servers with workers are
  $0 = "shop: worker 3 [#{"x" * 20}]"
  ready(title: 1)
end
