# A service that hangs, in the way that its first argument names. It answers nothing.

require "socket"

# Two fibers that take two locks in different orders.
class Ledger
  def initialize
    @accounts = Mutex.new
    @audit = Mutex.new
  end

  def transfer(ready : Channel(Nil), go : Channel(Nil))
    @accounts.synchronize do
      ready.send(nil)
      go.receive
      @audit.synchronize { }
    end
  end

  def report(ready : Channel(Nil), go : Channel(Nil))
    @audit.synchronize do
      ready.send(nil)
      go.receive
      @accounts.synchronize { }
    end
  end
end

# Each of the two waits for what the other would send afterwards.
class Exchange
  def initialize
    @questions = Channel(Int32).new
    @answers = Channel(String).new
  end

  def start
    spawn(name: "asker") { ask }
    spawn(name: "answerer") { answer }
  end

  def ask
    answer = @answers.receive
    @questions.send(answer.size)
  end

  def answer
    question = @questions.receive
    @answers.send(question.to_s)
  end
end

def spin_in_place(seed : UInt64)
  while true
    seed = seed &* 6364136223846793005_u64 &+ 1442695040888963407_u64
  end
end

def wait_for_job(jobs : Channel(Int32))
  jobs.receive
end

# All others wait once a fiber that was spawned after them has run twice.
def say_ready
  done = Channel(Nil).new
  spawn(name: "announcer") do
    3.times { Fiber.yield }
    done.send(nil)
  end
  done.receive
  puts "ready"
  STDOUT.flush
end

count = (ARGV[1]? || "12").to_i
case ARGV[0]?
when "locks"
  ledger, ready, go = Ledger.new, Channel(Nil).new, Channel(Nil).new
  spawn(name: "transfer") { ledger.transfer(ready, go) }
  spawn(name: "report") { ledger.report(ready, go) }
  2.times { ready.receive }
  2.times { go.send(nil) }
  server = TCPServer.new("127.0.0.1", 0)
  spawn(name: "acceptor") { server.accept }
  say_ready
  sleep 1000
when "exchange"
  Exchange.new.start
  say_ready
  sleep 1000
when "spin"
  count.times { |i| spawn(name: "idle-#{i}") { sleep 1000 } }
  say_ready
  spawn(name: "spinner") { spin_in_place(7_u64) }
  sleep 1000
when "channels"
  jobs = Channel(Int32).new
  count.times { |i| spawn(name: "worker-#{i}") { wait_for_job(jobs) } }
  say_ready
  wait_for_job(jobs)
when "io"
  near, far = UNIXSocket.pair
  reader, writer = IO.pipe
  server = TCPServer.new("127.0.0.1", 0)
  spawn(name: "reader") { near.gets }
  spawn(name: "piped") { reader.gets }
  spawn(name: "acceptor") { server.accept }
  spawn(name: "sleeper") { sleep 500 }
  spawn(name: "chooser") do
    select
    when Channel(Int32).new.receive
    when Channel(String).new.receive
    end
  end
  say_ready
  far.read_timeout = nil
  gets
end
