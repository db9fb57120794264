# A Ruby program with a C library that loses what it allocates. It prints what it has: "ready
# Session=500 …". Nothing is collected after that, so there is garbage, too, whose buffers Ruby
# would free.
require "fiddle"

class Session
  def initialize(number)
    @number = number
    @user = "user-#{number} " * 20
  end
end

class Wide
  def initialize = (1..9).each { |n| instance_variable_set("@part#{n}", "part #{n} " * 10) }
end

class Dropped
  def initialize(number) = @text = "dropped #{number} " * 30
end

LOST = 400          # blocks of 1,500 bytes that nothing references
HELD = 50           # blocks of 2,500 bytes that Fiddle's pointers hold
OF_GARBAGE = 60     # blocks of 3,500 bytes of pointers that nothing references, which Ruby will free
GARBAGE = 300

def lose = LOST.times { Fiddle.malloc(1500) }
# A block of 4,500 bytes whose address is only in what a text has not written of its own memory.
def lose_in_text
  address = Fiddle.malloc(4500)
  old = Fiddle::Pointer.new(Fiddle.malloc(6000))
  (1000...6000).each { |at| old[at] = address >> 8 * (at % 8) & 255 }
  Fiddle.free(old)
  String.new("short", capacity: 5990)
end
def drop
  OF_GARBAGE.times { Fiddle::Pointer.malloc(3500, Fiddle::RUBY_FREE) }
  GARBAGE.times { |number| Dropped.new(number) }
end
# Overwrites what calls have left on the stacks.
def deep(depth, *rest) = depth.zero? ? 0 : 1 + deep(depth - 1, *rest, nil)

SESSIONS = Array.new(500) { |number| Session.new(number) }
WIDE = Array.new(30) { Wide.new }
POINTERS = Array.new(HELD) { Fiddle::Pointer.malloc(2500, Fiddle::RUBY_FREE) }
GC.start
GC.disable
Fiber.new { lose }.resume
TEXT = Fiber.new { lose_in_text }.resume
Fiber.new { drop }.resume
deep(100, 1, 2, 3)
HELD.times { Fiddle.free(Fiddle.malloc(200)) }
counts = { "Session" => ObjectSpace.each_object(Session).count, "Wide" => WIDE.size,
           "Dropped" => ObjectSpace.each_object(Dropped).count,
           "lost" => LOST, "held" => HELD, "of_garbage" => OF_GARBAGE,
           "pages" => GC.stat(:heap_allocated_pages),
           "page_bytes" => GC::INTERNAL_CONSTANTS.fetch(:HEAP_PAGE_SIZE, 65_536) }
$stdout.puts("ready #{counts.map { |name, count| "#{name}=#{count}" }.join(" ")}")
$stdout.flush
$stdin.gets
$stdout.puts("rounds=1")
$stdout.flush
$stdin.gets
