# A program with one object of each kind that has ever been misnamed. It prints "ready", and answers
# "counts" with "classes=N" and N lines "CLASS<TAB>INSTANCES" of live objects.

require "weak_ref"

module Kinds
  ALIVE = {} of String => Int32

  # A class and its subclasses, all of one size, in fields and arrays of the class.
  class Animal
    getter name : String

    def initialize(@name)
    end
  end

  class Dog < Animal
  end

  class Cat < Animal
  end

  # Only subclasses of it have instances.
  abstract class Plan
    getter step : Int32

    def initialize(@step)
    end
  end

  class First < Plan
  end

  class Second < Plan
    @more = [1, 2, 3]
  end

  class Owner
    getter pet : Animal
    getter plan : Plan

    def initialize(@pet, @plan)
    end
  end

  # Only closures reference these.
  class Captured
    getter number : Int32

    def initialize(@number)
    end
  end

  class Callback
    getter call : Proc(Int32)

    def initialize(&@call : -> Int32)
    end
  end

  # Memory of a library that uses the collector's allocator: numbers in scanned memory.
  class Limbs
    getter limbs : Pointer(UInt64)

    def initialize(count : Int32)
      @limbs = GC.malloc((count * 8).to_u64).as(Pointer(UInt64))
      count.times { |i| @limbs[i] = 1_u64 << (i % 20) }
    end
  end

  class Job
    getter channel : Channel(Int32)

    def initialize(@channel)
    end
  end

  class Failure < Exception
  end

  private class Hidden
    getter text : String

    def initialize(@text)
    end
  end

  class Keeper
    getter hidden = [] of Hidden
    getter owners = [] of Owner
    getter animals = [] of Animal
    getter callbacks = [] of Callback
    getter limbs = [] of Limbs
    getter jobs = [] of Job
    getter failures = [] of Exception
    getter links = [] of WeakRef(Animal)

    def fill
      30.times { |i| @hidden << Hidden.new("hidden #{i}") }
      40.times { |i| @owners << Owner.new(Dog.new("dog #{i}"), First.new(i)) }
      50.times { |i| @owners << Owner.new(Cat.new("cat #{i}"), Second.new(i)) }
      60.times { |i| @animals << Animal.new("animal #{i}") }
      70.times { |i| @callbacks << callback(i) }
      80.times { @limbs << Limbs.new(40) }
      25.times { @jobs << Job.new(Channel(Int32).new(4)) }
      15.times { |i| @failures << Failure.new("failure #{i}") }
      60.times { |i| @links << WeakRef(Animal).new(@animals[i]) }
      count
    end

    def callback(i : Int32)
      captured = Captured.new(i)
      Callback.new { captured.number + i }
    end

    def count
      {"Hidden" => 30, "Dog" => 40, "Cat" => 50, "Animal" => 60, "First" => 40, "Second" => 50, "Owner" => 90,
       "Callback" => 70, "Captured" => 70, "Limbs" => 80, "Job" => 25, "Failure" => 15, "Plan" => 0,
       "Keeper" => 1}.each { |name, count| ALIVE["Kinds::#{name}"] = count }
      ALIVE["WeakRef(Kinds::Animal)"] = 60
      ALIVE["Channel(Int32)"] = 25
    end
  end
end

KEEPER = Kinds::Keeper.new

# On a fiber of its own, whose stack is not scanned once it has ended.
done = Channel(Nil).new
spawn do
  KEEPER.fill
  done.send(nil)
end
done.receive
20.times { Fiber.yield }
GC.collect
puts "ready"
STDOUT.flush
while question = gets
  next unless question == "counts"
  puts "classes=#{Kinds::ALIVE.size}"
  Kinds::ALIVE.each { |name, count| puts "#{name}\t#{count}" }
  STDOUT.flush
end
