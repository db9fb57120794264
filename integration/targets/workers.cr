# Two fibers, each of which makes objects of its own class when it is told to: "first=500" lets the
# first one make 500 of them, and is answered "made=500", which counts all so far of that fiber. The
# main fiber makes one Asked for each line.

class First
  def initialize(@number : Int32)
  end
end

class Second
  def initialize(@number : Int32)
  end
end

class Asked
  def initialize(@line : String)
  end
end

class Worker
  @wanted = Channel(Int32).new
  @made = Channel(Int32).new

  def initialize(name : String, &make : Int32 ->)
    spawn(name: name) do
      made = 0
      loop do
        @wanted.receive.times { make.call(made += 1) }
        @made.send(made)
      end
    end
  end

  def make(count : Int32) : Int32
    @wanted.send(count)
    @made.receive
  end
end

WORKERS = {
  "first"  => Worker.new("first") { |number| First.new(number) },
  "second" => Worker.new("second") { |number| Second.new(number) },
}

# Both have begun to wait.
WORKERS.each_value { |worker| worker.make(0) }
puts "ready"
STDOUT.flush
while line = gets
  Asked.new(line)
  name, _, count = line.partition('=')
  puts "made=#{WORKERS[name].make(count.to_i)}"
  STDOUT.flush
end
