# A program whose instances are in slots that are far larger than they need, because the largest class
# of each size class came first. It prints "ready", and answers "counts" with "classes=N
# widest=P" and N lines "CLASS<TAB>INSTANCES" of live objects; the widest slot has P percent of its
# instance's bytes.

lib LibGC
  fun slot_bytes = GC_size(pointer : Void*) : LibC::SizeT
end

module Sizes
  ALIVE = {} of String => Int32
  KEPT  = [] of Array(Of126) | Array(Of106) | Array(Of92) | Array(Of86) | Array(Of76) | Array(Of60)

  @@widest = 0_u64

  def self.widest
    @@widest
  end

  def self.note(name, at, bytes)
    ALIVE[name] = ALIVE.fetch(name, 0) + 1
    @@widest = {@@widest, LibGC.slot_bytes(at) * 100 // bytes}.max
  end

  {% for words in [126, 106, 92, 86, 76, 60] %}
    class Of{{words}}
      @words = StaticArray(String?, {{words}}).new(nil)

      def initialize
        @words[0] = "text"
        Sizes.note({{@type.name.stringify}} + "::Of{{words}}", self.as(Void*), instance_sizeof(Of{{words}}))
      end
    end
  {% end %}

  def self.fill
    {% for words in [106, 126, 92, 86, 76, 60] %}
      KEPT << Array(Of{{words}}).new(20) { Of{{words}}.new }
    {% end %}
  end
end

# On a fiber of its own, whose stack is not scanned once it has ended.
done = Channel(Nil).new
spawn do
  Sizes.fill
  done.send(nil)
end
done.receive
20.times { Fiber.yield }
GC.collect
puts "ready"
STDOUT.flush
while question = gets
  next unless question == "counts"
  puts "classes=#{Sizes::ALIVE.size} widest=#{Sizes.widest}"
  Sizes::ALIVE.each { |name, count| puts "#{name}\t#{count}" }
  STDOUT.flush
end
