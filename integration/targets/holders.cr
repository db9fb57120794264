# Twenty objects, each referenced by one holder: a constant, a class variable, a closure, a variable
# of a fiber that waits. On request it prints a line for each, with its number, its address and its
# holder: "global" and the global's name; "variable", the address of the fiber and the variable's
# name; or "closure" and the address of the fiber that runs it.

class Held
  getter number : Int32

  def initialize(@number)
  end
end

class Crate
  property held : Held

  def initialize(@held)
  end
end

# Keeps complements of addresses, so that its list references nothing.
module Truth
  @@lines = [] of {UInt64, Int32, String}
  @@fibers = {} of String => UInt64

  @[NoInline]
  def self.make(number : Int32, holder : String) : Held
    held = Held.new(number)
    @@lines << {~held.object_id, number, holder}
    held
  end

  @[NoInline]
  def self.start(name : String, &block : ->)
    @@fibers[name] = ~spawn(name: name, &block).object_id
  end

  def self.tell
    puts "holders=#{@@lines.size}"
    @@lines.each do |line|
      words = line[2].split(' ')
      @@fibers[words[1]]?.try { |fiber| words[1] = "0x#{(~fiber).to_s(16)}" }
      puts "#{line[1]} 0x#{(~line[0]).to_s(16)} #{words.join(' ')}"
    end
  end
end

CONSTANT = Truth.make(1, "global CONSTANT")

module Shop
  FIRST = Truth.make(2, "global Shop::FIRST")
  LIST  = [Truth.make(3, "global Shop::LIST")]
  MAP   = {"key" => Truth.make(4, "global Shop::MAP")}
  CRATES = {1 => [Crate.new(Truth.make(5, "global Shop::CRATES"))]}

  class Registry
    @@one : Held = Truth.make(6, "global Shop::Registry::one")
    @@maybe : Held? = nil
    @@list = [] of Held
    @@by_name = {} of String => Crate
    class_getter handlers = [] of -> Int32
    class_property handler : (-> Int32)? = nil
    class_property observer : Observer? = nil

    def self.fill
      @@maybe = Truth.make(7, "global Shop::Registry::maybe")
      @@list << Truth.make(8, "global Shop::Registry::list")
      @@by_name["b"] = Crate.new(Truth.make(9, "global Shop::Registry::by_name"))
    end

    def self.touch
      {@@one, @@maybe, @@list, @@by_name, CONSTANT, FIRST, LIST, MAP, CRATES}
    end
  end

  class Observer
    def initialize(&@block : -> Int32)
    end
  end

  CALLBACKS = {} of String => (-> Int32)
end

# Each in a method of its own: the closures of one method share what they capture.
@[NoInline]
def keep_in_list
  held = Truth.make(10, "global Shop::Registry::handlers")
  Shop::Registry.handlers << -> { held.number }
end

@[NoInline]
def keep_alone
  held = Truth.make(11, "global Shop::Registry::handler")
  Shop::Registry.handler = -> { held.number }
end

@[NoInline]
def keep_by_name
  held = Truth.make(12, "global Shop::CALLBACKS")
  Shop::CALLBACKS["callback"] = -> { held.number }
end

@[NoInline]
def keep_block
  held = Truth.make(13, "global Shop::Registry::observer")
  Shop::Registry.observer = Shop::Observer.new { held.number }
end

# Nothing is ever sent to it.
NEVER = Channel(Int32).new

@[NoInline]
def wait : Int32
  NEVER.receive
end

@[NoInline]
def wait_with(held : Held) : Int32
  wait + held.number
end

@[NoInline]
def wait_in_block(box : Crate) : Int32
  sum = 0
  2.times { |i| sum += wait + box.held.number + i }
  sum
end

@[NoInline]
def wait_in_many(first : Held) : Int32
  middle = Crate.new(Truth.make(18, "variable many middle"))
  wait_with(first) + middle.held.number
end

@[NoInline]
def spawn_all
  Truth.start("local") do
    held = Truth.make(14, "variable local held")
    puts wait + held.number
  end
  Truth.start("argument") { puts wait_with(Truth.make(15, "variable argument held")) }
  Truth.start("block") { puts wait_in_block(Crate.new(Truth.make(16, "variable block box"))) }
  Truth.start("many") do
    puts wait_in_many(Truth.make(17, "variable many held"))
  end
end

@[NoInline]
def spawn_with_captured
  captured = Truth.make(19, "closure captured")
  Truth.start("captured") { puts wait + captured.number }
end

@[NoInline]
def spawn_with_passed
  passed = Truth.make(20, "closure passed")
  Truth.start("passed") { puts wait_with(passed) }
end

# Another call of the same depth overwrites the words that a call leaves behind.
@[NoInline]
def write_over(depth : Int32) : Int32
  words = uninitialized StaticArray(UInt64, 64)
  words.fill(depth.to_u64)
  depth == 0 ? 0 : write_over(depth - 1) + words[depth % 64].to_i32!
end

Shop::Registry.fill
keep_in_list
keep_alone
keep_by_name
keep_block
spawn_all
spawn_with_captured
spawn_with_passed
Fiber.yield
write_over(50)
puts "ready touched=#{Shop::Registry.touch.size}"
STDOUT.flush
while gets
  Truth.tell
  STDOUT.flush
  write_over(50)
end
