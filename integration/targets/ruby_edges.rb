# Objects of every kind that can reference others. Writes a dump of its own heap to the file in its
# first argument, prints "ready", and then sleeps until its input ends. Or, with "hangs" after the
# file, it hangs for good in the midst of a collection.
require "objspace"
require "fiddle"

module Blog
  class Session
    def initialize(number)
      @user = "user-#{number}" * 3
      @number = number
    end
  end

  class Metrics
    attr_reader :history

    def initialize
      @history = Array.new(5000) { |number| Session.new(number) }
    end
  end
  METRICS = Metrics.new
  @@registry = { first: Session.new(1) }
  @cache = (0..100).to_h { |number| ["key-#{number}", Session.new(number)] }
end

class Large
  def initialize = (1..9).each { |n| instance_variable_set("@v#{n}", "value #{n}") }
end

class Text < String
  def mark(what) = @mark = what
end
class List < Array; end
Pair = Struct.new(:left, :right)
Wide = Struct.new(:a, :b, :c, :d, :e)
module Loud
  def speak = super.upcase
end
class Speaker
  prepend Loud
  define_method(:speak) { "word" }
  alias talk speak
end
def closing(session) = -> { session }
anonymous = Class.new

$leak = (0..50).map { |number| Blog::Session.new(number) }
KEPT = [
  Array.new(20) { Large.new }, Large.new,
  Array.new(20) { Text.new("x" * 100).tap { |text| text.mark([text]) } },
  List.new(3) { [nil, "a" * 30] },
  { 1 => "one" * 20, "two" * 20 => [2] }, (0..20).to_h { |n| [n, n.to_s * 30] },
  Hash.new { |hash, key| hash[key] = key }, {}.compare_by_identity.merge!("k" * 30 => "v" * 30),
  Pair.new("left" * 10, ["right"]), Wide.new("a", "b", "c", "d", "e"),
  closing(Blog::Session.new(7)), method(:closing), proc { |x| x }, :to_s.to_proc,
  Rational(1, 1 << 80), Complex(1 << 80, 2), "abcdef".match(/(b)(c)/), /dynamic #{rand}/,
  Speaker.new, anonymous.new, Object.new.tap { |one| def one.single = 1 },
  ("shared" * 100).then { |text| [text, text[10..], text.dup] },
  (1..100).to_a.then { |list| [list, list[50..]] },
  IO.pipe, File.open(__FILE__), 1.5e300, 1 << 100, (1..), ("a".."z"),
  Fiber.new { Fiber.yield }.tap(&:resume), Thread.new { Thread.stop }, binding,
  [1, 2].each, [3].lazy.map { |x| x }, Enumerator.new { |y| y << 1 }, Mutex.new, Queue.new.push("q"),
  ObjectSpace::WeakMap.new, Time.now, Random.new, Dir.new("/"), Encoding::UTF_8, StandardError.new("e"),
]
Speaker.new.speak
KEPT.last.message
GC.start
GC.disable
# Twice: what Ruby caches when it calls something for the first time is in the second dump.
[IO.for_fd(IO.sysopen(File::NULL, "w"), "w"), $stdout].each do |out|
  File.open(ARGV.fetch(0), "wb") { |file| ObjectSpace.dump_all(output: file) }
  out.puts("ready")
  out.flush
end
if ARGV[1] == "hangs"
  # An object whose function for marking waits for a signal, for ever.
  wrap = Fiddle::Function.new(Fiddle::Handle::DEFAULT["rb_data_object_wrap"],
                              [Fiddle::TYPE_VOIDP] * 4, Fiddle::TYPE_VOIDP, need_gvl: true)
  pause = Fiddle::Handle::DEFAULT["pause"]
  KEPT << Fiddle.dlunwrap(wrap.call(Fiddle.dlwrap(Object), 1, pause, 0).to_i)
  GC.enable
  GC.start
else
  $stdin.gets
end
