# A Ruby program in one of several states. It has objects of a few classes, and prints their counts
# after a collection: "ready Session=1000 …". Then it stays in its state until its input ends.
# On each line of input it prints how often its work went round.

class Session
  def initialize(number)
    @user = "user-#{number}"
    @number = number
    @cart = Cart.new([self])
  end
end

class Cart
  def initialize(items)
    @items = items
  end
end

Pair = Struct.new(:left, :right)
anonymous = Class.new
RATE = 0.6
def rate = RATE  # the interpreter keeps its value where objects have their class

SESSIONS = Array.new(1000) { |number| Session.new(number) }
PAIRS = Array.new(300) { |number| Pair.new("l#{number}", number.to_f) }
UNNAMED = Array.new(70) { anonymous.new }
SINGLE = Session.new(0)
def SINGLE.answer() 42 end

$rounds = 0

def work(state)
  case state
  when "sleep", "emptied" then sleep
  when "busy" then loop { $rounds += 1 }
  when "busy_thread"
    Thread.new { loop { $rounds += 1 } }
    sleep
  when "io"
    pipes = Array.new(4) { IO.pipe }  # kept: a collection would close the other ends
    pipes.map { |pipe| Thread.new { pipe.first.read } }.each(&:join)
  when "computing"
    Array.new(5) { Thread.new { loop { $rounds += 1 } } }.each(&:join)
  when "churning"
    Array.new(5) do
      Thread.new { loop { $rounds += Array.new(50) { |number| "text #{number}" }.size / 50 } }
    end.each(&:join)
  when "deadlock"
    first, second = Mutex.new, Mutex.new
    [[first, second], [second, first]].each do |mine, other|
      Thread.new do
        mine.synchronize do
          sleep 0.001 until first.locked? && second.locked?
          other.synchronize {}
        end
      end
    end
    sleep
  when "native"  # C code that keeps the lock
    loop do
      (3**200_000).to_s
      $rounds += 1
    end
  when "collecting"
    loop do
      GC.start
      $rounds += 1
    end
  when "ractor"
    Warning[:experimental] = false
    Ractor.new { sleep }
    sleep
  when "mutex"
    mutex = Mutex.new
    Thread.new { mutex.synchronize { sleep } }
    Thread.pass until mutex.locked?
    mutex.synchronize {}
  when "server"
    require "socket"
    server = TCPServer.new("127.0.0.1", 0)
    port = server.addr[1]
    4.times do
      Thread.new do
        loop do
          client = server.accept
          client.gets
          client.write("x" * 200)
          client.close
        end
      end
    end
    Array.new(2) do
      Thread.new do
        loop do
          client = TCPSocket.new("127.0.0.1", port)
          client.puts("get")
          raise "cut short" unless client.read.size == 200
          client.close
          $rounds += 1
        end
      end
    end
    sleep
  when "webrick"
    require "socket"
    require "webrick"
    server = WEBrick::HTTPServer.new(Port: 0, BindAddress: "127.0.0.1", AccessLog: [],
                                     Logger: WEBrick::Log.new(File::NULL))
    server.mount_proc("/") { |_request, answer| answer.body = "x" * 200 }
    port = server.listeners.first.addr[1]
    2.times do
      Thread.new do
        loop do
          client = TCPSocket.new("127.0.0.1", port)
          client.write("GET / HTTP/1.0\r\n\r\n")
          raise "cut short" unless client.read.end_with?("x" * 200)
          client.close
          $rounds += 1
        end
      end
    end
    server.start
  when "allocating"
    kept = nil
    loop do
      kept = Array.new(50) { |number| "text #{number}" }
      $rounds += 1
    end
  when "extension"
    require "fiddle"
    wait = Fiddle::Function.new(Fiddle::Handle::DEFAULT["usleep"], [Fiddle::TYPE_INT],
                                Fiddle::TYPE_INT, need_gvl: true)
    loop do
      wait.call(200_000)
      $rounds += 1
    end
  end
end

Thread.report_on_exception = false
Thread.new do
  while $stdin.gets
    $stdout.puts("rounds=#{$rounds}")
    $stdout.flush
  end
  exit!(0)
end

rate
counts = {}
if ARGV.fetch(0) == "emptied"  # of nearly all that it had
  2.times { Array.new(400_000) { |number| "text #{number}" } }
  3.times { GC.start }
end
GC.start
[Session, Cart, Pair].each { |one| counts[one.name] = ObjectSpace.each_object(one).count }
counts["unnamed"] = ObjectSpace.each_object(anonymous).count
$stdout.puts("ready #{counts.map { |name, count| "#{name}=#{count}" }.join(" ")}")
$stdout.flush
work(ARGV.fetch(0))
