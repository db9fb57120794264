# Fibers that wait, one for each thing that a fiber can wait for. A fiber's name is what it waits
# for; the file descriptors, process and addresses involved are printed. The first argument selects
# which of them run: "all", or a kind of program that has nothing to do for the moment:
#
#     all       each kind of wait
#     pool      workers at a channel of jobs, whose giver sleeps between two jobs
#     actors    actors at their mailboxes, one of which a timer writes to
#     signals   workers at a channel that only the handler of a signal sends to
#     wedged    workers and their giver, each waiting for the others: nobody is left
#     lost      clients at channels that nobody else has any more, one that waits for another such
#               client, and fibers at a channel of a constant
#
# Prints "ready" once every fiber waits.

require "socket"
require "log"
{% if compare_versions(Crystal::VERSION, "1.13.0") >= 0 %}
  require "wait_group"
{% end %}
{% if flag?(:execution_context) || compare_versions(Crystal::VERSION, "1.19.0") >= 0 %}
  require "sync/mutex"
  require "sync/condition_variable"
  require "sync/rw_lock"
{% end %}

class Job
  getter number : Int32

  def initialize(@number)
  end
end

# Two fibers that take two locks in different orders.
module Blog
  FIRST_LOCK  = Mutex.new
  SECOND_LOCK = Mutex.new

  def self.publish(ready : Channel(Nil), go : Channel(Nil))
    FIRST_LOCK.synchronize do
      ready.send(nil)
      go.receive
      SECOND_LOCK.synchronize { }
    end
  end

  def self.archive(ready : Channel(Nil), go : Channel(Nil))
    SECOND_LOCK.synchronize do
      ready.send(nil)
      go.receive
      FIRST_LOCK.synchronize { }
    end
  end
end

# The lock of an object, held by a fiber that sleeps.
class Account
  def initialize
    @lock = Mutex.new
  end

  getter? held = false

  def hold
    @lock.synchronize do
      @held = true
      sleep LONG
    end
  end

  def change
    @lock.synchronize { }
  end
end

LONG = Time::Span.new(seconds: 900, nanoseconds: 0)
KEPT = [] of IO

# Keeps objects that are otherwise only referenced from a stack.
def kept(object : IO)
  KEPT << object
  object
end

# All others wait once a fiber that was spawned after them has run often.
def settle
  done = Channel(Nil).new
  spawn(name: "announcer") do
    30.times { Fiber.yield }
    done.send(nil)
  end
  done.receive
end

def say(text : String)
  puts text
  STDOUT.flush
end

def wait_for_channels
  jobs = Channel(Job).new
  full = Channel(Job).new
  words = Channel(String).new
  late = Channel(String).new
  spawn(name: "receive") { jobs.receive }
  spawn(name: "receive?") { jobs.receive? }
  spawn(name: "send") { full.send(Job.new(1)) }
  spawn(name: "select") do
    select
    when jobs.receive
    when words.send("never")
    end
  end
  spawn(name: "select-timeout") do
    select
    when late.receive
    when timeout(LONG)
    end
  end
end

def wait_for_locks
  account = Account.new
  spawn(name: "holder") { account.hold }
  until account.held?
    Fiber.yield
  end
  spawn(name: "mutex") { account.change }
  ready, go = Channel(Nil).new, Channel(Nil).new
  spawn(name: "deadlock-first") { Blog.publish(ready, go) }
  spawn(name: "deadlock-second") { Blog.archive(ready, go) }
  2.times { ready.receive }
  2.times { go.send(nil) }
  {% if compare_versions(Crystal::VERSION, "1.13.0") >= 0 %}
    group = WaitGroup.new(1)
    spawn(name: "wait-group") { group.wait }
  {% end %}
  {% if compare_versions(Crystal::VERSION, "1.19.0") >= 0 %}
    lock = Sync::RWLock.new
    spawn(name: "lock-holder") { lock.write { sleep LONG } }
    Fiber.yield
    spawn(name: "rw-lock") { lock.read { } }
    mutex = Sync::Mutex.new
    condition = Sync::ConditionVariable.new(mutex)
    spawn(name: "condition") { mutex.synchronize { condition.wait } }
  {% end %}
end

def wait_for_descriptors
  near, far = UNIXSocket.pair
  reader, writer = IO.pipe
  server = TCPServer.new("127.0.0.1", 0)
  spawn(name: "read-socket") { near.gets }
  spawn(name: "read-limited") do
    far.read_timeout = LONG
    far.gets
  end
  spawn(name: "read-pipe") { reader.gets }
  spawn(name: "accept") { server.accept }
  unread, filled = IO.pipe
  kept(unread)
  spawn(name: "write-pipe") { filled.write(Bytes.new(1 << 20)) }
  # Nobody accepts, and one connection is in the queue already: the next ones have to wait.
  crowded = TCPServer.new("127.0.0.1", 0, backlog: 0)
  port = crowded.local_address.port
  kept(crowded)
  3.times do |i|
    spawn(name: "connect") { kept(TCPSocket.new("127.0.0.1", port)) }
  end
  kept(writer)
  say "near=#{near.fd} far=#{far.fd} reader=#{reader.fd} server=#{server.fd} filled=#{filled.fd}"
end

def wait_for_others
  process = Process.new("sleep", {"1000"})
  at_exit { process.terminate }
  spawn(name: "process") { process.wait }
  spawn(name: "sleep") { sleep LONG }
  spawn(name: "sleep-forever") { sleep }
  say "process=#{process.pid} crystal=#{Crystal::VERSION}"
end

def run_all
  wait_for_channels
  wait_for_locks
  wait_for_descriptors
  wait_for_others
  Log.setup("*", :info, Log::IOBackend.new(STDERR, dispatcher: :async))
  Log.info { "a line, so that the dispatcher has run" }
  settle
  say "ready"
  gets
end

def run_pool
  jobs = Channel(Job).new
  6.times { |i| spawn(name: "worker-#{i}") { loop { jobs.receive } } }
  settle
  say "ready"
  loop do
    sleep LONG
    jobs.send(Job.new(1))
  end
end

def run_actors
  mailboxes = Array.new(5) { Channel(String).new }
  mailboxes.each_with_index do |box, i|
    spawn(name: "actor-#{i}") do
      loop { mailboxes[(i + 1) % mailboxes.size].send(box.receive) }
    end
  end
  spawn(name: "clock") do
    sleep LONG
    mailboxes[0].send("tick")
  end
  settle
  say "ready"
  Channel(Nil).new.receive
end

def run_signals
  stop = Channel(Nil).new
  Signal::TERM.trap { stop.send(nil) }
  jobs = Channel(Job).new
  3.times { |i| spawn(name: "worker-#{i}") { loop { jobs.receive } } }
  settle
  say "ready"
  stop.receive
end

def run_wedged
  jobs = Channel(Job).new
  results = Channel(Int32).new
  3.times do |i|
    spawn(name: "worker-#{i}") { loop { results.send(jobs.receive.number) } }
  end
  settle
  say "ready"
  results.receive
end

BELL = Channel(Int32).new

# Its channel is known only to its own fiber.
def lose_client
  answers = Channel(Int32).new
  spawn(name: "lost") { answers.receive }
end

# Each has the other one's channel, and waits for its own.
def lose_pair
  first = Channel(Int32).new
  second = Channel(Int32).new
  spawn(name: "lost") { first.receive; second.send(1) }
  spawn(name: "lost") { second.receive; first.send(1) }
end

# Overwrites what calls have left on the stack.
def scrub
  words = StaticArray(UInt64, 4096).new(0)
  words.to_unsafe.clear(words.size)
  words[0] + words[4095]
end

def run_lost
  8.times { lose_client }
  lose_pair
  2.times { spawn(name: "heard") { BELL.receive } }
  spawn(name: "ringer") do
    loop do
      sleep LONG
      BELL.send(1)
    end
  end
  settle
  scrub
  GC.collect
  say "ready"
  gets
end

case ARGV[0]?
when "lost"    then run_lost
when "pool"    then run_pool
when "actors"  then run_actors
when "signals" then run_signals
when "wedged"  then run_wedged
else                run_all
end
