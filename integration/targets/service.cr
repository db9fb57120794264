# A service with a known inventory. It builds its heap, prints "ready", and then works for ever: its
# fibers wake up now and then, and nothing that it counted ever changes. It answers lines of input:
#
#     counts     "classes=N", and N lines "CLASS<TAB>INSTANCES" of what is alive
#     report     "lost=0": how many objects its fibers missed
#
# Dead objects are made on fibers of their own, after all others, and these have ended: no live
# stack ever saw an address of theirs, so even a conservative collector cannot mistake anything for
# one.

module Acme
  INVENTORY = {} of String => Int32

  def self.alive(name : String, count : Int32)
    INVENTORY[name] = count
  end

  class User
    getter name : String
    getter age : Int32

    def initialize(@name, @age)
    end
  end

  class Session
    getter user : User
    getter tags : Array(Tag)
    getter parent : Session?
    getter token : Int64

    def initialize(@user, @tags, @parent, @token)
    end
  end

  # No pointers: allocated as atomic.
  class Tag
    getter number : Int32
    getter weight : Int32

    def initialize(@number, @weight)
    end
  end

  # Only the id: the smallest object there is.
  class Marker
  end

  class Node(T)
    property next_node : Node(T)?
    getter value : T

    def initialize(@value : T, @next_node : Node(T)? = nil)
    end
  end

  # Constructors inherited, in part, and a subclass returned as its parent.
  abstract class Shape
    getter label : String

    def initialize(@label)
    end

    def self.pick(i : Int32) : Shape
      i.odd? ? Circle.new("round") : Square.new("square")
    end
  end

  class Circle < Shape
    @radius = 1.5
  end

  class Square < Shape
    @side = 2.5
    @corner = 0_i64
  end

  class SmallSquare < Square
    def initialize
      super("small")
    end
  end

  class Cached
    getter found : Hash(String, Session)
    getter by_number : Hash(Int32, Tag)

    def initialize
      @found = {} of String => Session
      @by_number = {} of Int32 => Tag
    end
  end

  # A value that is not always a reference.
  class Setting
    getter value : Int32 | String | User | Nil

    def initialize(@value)
    end
  end

  class Grid
    getter cells : StaticArray(Int32, 24)

    def initialize(id : Int32)
      @cells = StaticArray(Int32, 24).new { |i| i.even? ? id : 0 }
    end
  end

  class Frame
    getter bytes : Slice(Int32)

    def initialize(id : Int32, size : Int32)
      @bytes = Slice(Int32).new(size) { |i| i.even? ? id : 0 }
    end
  end

  class Held
    property next_held : Held?
    getter serial : Int32

    def initialize(@serial, @next_held)
    end
  end

  class Dead
    getter serial : Int32
    getter note : Tag

    def initialize(@serial)
      @note = Tag.new(serial, 0)
    end
  end

  # Dead since the last collection, but not collected yet.
  class Dropped
    getter serial : Int32

    def initialize(@serial)
    end
  end

  # Made now and then, so that code for them exists.
  class Never
    getter serial : Int32

    def initialize(@serial)
    end
  end

  class NeverEither(T)
    getter value : T

    def initialize(@value : T)
    end
  end
end

class Store
  getter sessions = [] of Acme::Session
  getter shapes = [] of Acme::Shape
  getter markers = [] of Acme::Marker
  getter settings = [] of Acme::Setting
  getter grids = [] of Acme::Grid
  getter frames = [] of Acme::Frame
  getter numbers = [] of Array(Int32)
  getter wide_numbers = [] of Array(Int64)
  getter pairs = [] of Array({Int32, Int32})
  getter named = [] of Array({Int32, String})
  getter queue = Deque(Acme::User).new
  getter cache = Acme::Cached.new
  property chain : Acme::Node(Int32)?
  property texts : Acme::Node(String)?
end

STORE = Store.new

def type_ids : Array(Int32)
  [Acme::User.crystal_instance_type_id, Acme::Session.crystal_instance_type_id,
   Acme::Tag.crystal_instance_type_id, Acme::Marker.crystal_instance_type_id,
   Acme::Circle.crystal_instance_type_id, Acme::Square.crystal_instance_type_id,
   Acme::SmallSquare.crystal_instance_type_id, Acme::Cached.crystal_instance_type_id,
   Acme::Setting.crystal_instance_type_id, Acme::Grid.crystal_instance_type_id,
   Acme::Held.crystal_instance_type_id, Acme::Dead.crystal_instance_type_id,
   Acme::Never.crystal_instance_type_id, Acme::Node(Int32).crystal_instance_type_id,
   Acme::NeverEither(Int64).crystal_instance_type_id, String.crystal_instance_type_id]
end

def make_sessions
  tags = 0
  1000.times do |i|
    own = Array(Acme::Tag).new(i % 7) { |j| Acme::Tag.new(i, j) }
    tags += own.size
    user = Acme::User.new("user-#{i}", i)
    session = Acme::Session.new(user, own, STORE.sessions.last?, i.to_i64)
    STORE.sessions << session
    STORE.cache.found["session-#{i}"] = session
    STORE.queue << user if i % 4 == 0
  end
  250.times { |i| STORE.queue << Acme::User.new("queued-#{i}", i) }
  500.times { |i| STORE.cache.by_number[i] = Acme::Tag.new(i, 1) }
  Acme.alive("Acme::Session", 1000)
  Acme.alive("Acme::Tag", tags + 500)
  Acme.alive("Array(Acme::Tag)", 1000)
  Acme.alive("Acme::Cached", 1)
  Acme.alive("Hash(String, Acme::Session)", 1)
  Acme.alive("Hash(Int32, Acme::Tag)", 1)
  Acme.alive("Array(Acme::Session)", 1)
  Acme.alive("Deque(Acme::User)", 1)
  Acme.alive("Store", 1)
end

def make_others
  300.times { |i| STORE.shapes << Acme::Shape.pick(i) }
  40.times { STORE.shapes << Acme::SmallSquare.new }
  77.times { STORE.markers << Acme::Marker.new }
  5.times { |i| STORE.settings << Acme::Setting.new(i) << Acme::Setting.new("five-#{i}") }
  5.times { |i| STORE.settings << Acme::Setting.new(Acme::User.new("set", i)) << Acme::Setting.new(nil) }
  600.times { |i| STORE.chain = Acme::Node(Int32).new(i, STORE.chain) }
  450.times { |i| STORE.texts = Acme::Node(String).new("text-#{i}", STORE.texts) }
  Acme.alive("Acme::User", 1000 + 250 + 5)
  Acme.alive("Acme::Circle", 150)
  Acme.alive("Acme::Square", 150)
  Acme.alive("Acme::SmallSquare", 40)
  Acme.alive("Acme::Marker", 77)
  Acme.alive("Acme::Setting", 20)
  Acme.alive("Acme::Node(Int32)", 600)
  Acme.alive("Acme::Node(String)", 450)
  Acme.alive("Array(Acme::Shape)", 1)
  Acme.alive("Array(Acme::Marker)", 1)
  Acme.alive("Array(Acme::Setting)", 1)
end

# Buffers of every size from 4 to 400 bytes whose first words are the ids of the classes above.
def make_lookalikes
  ids = type_ids
  ids.each do |id|
    (1..50).each do |n|
      STORE.numbers << Array(Int32).new(2 * n) { |i| i.even? ? id : 0 }
      STORE.wide_numbers << Array(Int64).new(n) { id.to_i64 }
      STORE.pairs << Array({Int32, Int32}).new(n) { {id, 0} }
      STORE.named << Array({Int32, String}).new(n) { |i| {id, "pair"} }
    end
    STORE.grids << Acme::Grid.new(id)
    STORE.frames << Acme::Frame.new(id, 64)
  end
  # An array that was shifted points into its buffer.
  shifted = Array(Int32).new(20) { |i| i.even? ? ids[0] : 0 }
  7.times { shifted.shift }
  STORE.numbers << shifted
  buffers = ids.size * 50
  Acme.alive("Array(Int64)", buffers)
  Acme.alive("Array(Tuple(Int32, Int32))", buffers)
  Acme.alive("Array(Tuple(Int32, String))", buffers)
  Acme.alive("Acme::Grid", ids.size)
  Acme.alive("Acme::Frame", ids.size)
  Acme.alive("Array(Array(Int32))", 1)
end

class Lost
  class_property count = 0
end

# Two fibers reference lists only from a variable on their stacks.
def hold_list(count : Int32, gate : Channel(Nil))
  head = nil
  count.times { |i| head = Acme::Held.new(i, head) }
  gate.send(nil)
  loop do
    sleep 50.milliseconds
    found = 0
    held = head
    while held
      found += 1 if held.serial == count - found - 1
      held = held.next_held
    end
    Lost.count += count - found
  end
end

def kill_some(count : Int32, gate : Channel(Nil))
  last = nil
  count.times do |i|
    last = Acme::Dead.new(i)
    Acme::Never.new(i) if i > count
    Acme::NeverEither(Int64).new(i.to_i64) if i > count
  end
  gate.send(nil) if last
end

def drop_some(count : Int32, gate : Channel(Nil))
  last = nil
  count.times { |i| last = Acme::Dropped.new(i) }
  gate.send(nil) if last
end

def answer(question : String)
  case question
  when "counts"
    puts "classes=#{Acme::INVENTORY.size}"
    Acme::INVENTORY.each { |name, count| puts "#{name}\t#{count}" }
  when "report"
    puts "lost=#{Lost.count}"
  end
  STDOUT.flush
end

def run
  gate = Channel(Nil).new
  # The fibers that stay come first: a later one would reuse the stack of one that has ended.
  spawn(name: "holder-1") { hold_list(3000, gate) }
  spawn(name: "holder-2") { hold_list(2000, gate) }
  2.times { gate.receive }
  # All leftovers of this stay on the stack of a fiber that ends.
  spawn(name: "maker") do
    make_sessions
    make_others
    make_lookalikes
    gate.send(nil)
  end
  gate.receive
  4.times { spawn(name: "killer") { kill_some(2000, gate) } }
  4.times { gate.receive }
  Acme.alive("Acme::Held", 5000)
  Acme.alive("Acme::Dropped", 0)
  Acme.alive("Acme::Dead", 0)
  Acme.alive("Acme::Never", 0)
  Acme.alive("Acme::NeverEither(Int64)", 0)
  Acme.alive("Acme::Shape", 0)
  10.times { Fiber.yield }
  # With several threads, the collector keeps the end of this fiber's stack for the first thread,
  # until it collects again.
  collect = ->do
    GC.collect
    gate.send(nil)
  end
  {% if compare_versions(Crystal::VERSION, "1.16.0") < 0 %}
    spawn(name: "collector", same_thread: true, &collect)
  {% else %}
    spawn(name: "collector", &collect)
  {% end %}
  gate.receive
  spawn(name: "dropper") { drop_some(300, gate) }
  gate.receive
  puts "ready"
  STDOUT.flush
  while question = gets
    answer(question)
  end
end

run
