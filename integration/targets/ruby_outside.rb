# Prints what ObjectSpace says of its objects: "ready Session=1000 Session.bytes=40000 …". Then, by
# its first argument, it sleeps until its input ends, or hangs for good in the midst of a collection,
# where no Ruby code can run in any copy of it.
require "objspace"

class Session
  def initialize(number)
    @user = "user-#{number}"
    @number = number
  end
end

class Large
  def initialize = (1..9).each { |n| instance_variable_set("@v#{n}", n) }
end

class Text < String; end
class List < Array; end
class Table < Hash; end
Pair = Struct.new(:left, :right)
Wide = Struct.new(:a, :b, :c, :d, :e)
module Blog
  Entry = Class.new
end
anonymous = Class.new

KEPT = [
  Array.new(1000) { |number| Session.new(number) },
  Array.new(20) { Large.new },
  Array.new(100) { |number| Text.new.concat("x" * number) },
  Array.new(100) { |number| List.new(number, 1) },
  Array.new(60) { |number| Table[Array.new(number) { |key| [key, key] }] },
  Array.new(300) { |number| Pair.new(number, number.to_f) },
  Array.new(30) { Wide.new(1, 2, 3, 4, 5) },
  Array.new(50) { Blog::Entry.new },
  Array.new(70) { anonymous.new },
]
SINGLE = Session.new(0)
def SINGLE.answer = 42

CLASSES = [Session, Large, Text, List, Table, Pair, Wide, Blog::Entry, Rational, Complex]
GC.start
counts = {}
CLASSES.each do |one|
  counts[one.name] = ObjectSpace.each_object(one).count
  counts["#{one.name}.bytes"] = ObjectSpace.memsize_of_all(one)
end
counts["unnamed"] = ObjectSpace.each_object(anonymous).count
hangs = ARGV.first == "hangs"
if hangs
  # An object whose function for marking waits for a signal, for ever.
  require "fiddle"
  wrap = Fiddle::Function.new(Fiddle::Handle::DEFAULT["rb_data_object_wrap"],
                              [Fiddle::TYPE_VOIDP] * 4, Fiddle::TYPE_VOIDP, need_gvl: true)
  pause = Fiddle::Handle::DEFAULT["pause"]
end
GC.disable
all = ObjectSpace.count_objects
counts["in_use"] = all[:TOTAL] - all[:FREE]
[:T_OBJECT, :T_CLASS, :T_MODULE, :T_ICLASS, :T_STRUCT].each { |kind| counts[kind.to_s] = all[kind] }
$stdout.puts("ready #{counts.map { |name, count| "#{name}=#{count}" }.join(" ")}")
$stdout.flush
if hangs
  $stdout.sync = true
  KEPT << Fiddle.dlunwrap(wrap.call(Fiddle.dlwrap(Object), 1, pause, 0).to_i)
  GC.enable
  GC.start
  puts "it did not hang"
else
  $stdin.gets
end
