# A small web application as people write them: a server with a pool of threads, middleware, a cache
# with a limit, sessions, and jobs. Two visitors ask it all the time. One part leaks: Audit keeps
# what it noted about each request. On a line of input it prints how much it did, and how long the
# slowest answer since the last such line took, in milliseconds:
# "requests=812 failed=0 jobs=41 leaked=3812 slowest=3". It ends when its input ends.

require "socket"

class Cache
  def initialize(most)
    @most = most
    @entries = {}
    @lock = Mutex.new
  end

  def fetch(key)
    @lock.synchronize do
      value = @entries.delete(key) || yield
      @entries[key] = value
      @entries.shift while @entries.size > @most
      value
    end
  end
end

class Product
  attr_reader :name, :price

  def initialize(number)
    @name = "Product #{number}"
    @price = number * 3
    @tags = Array.new(4) { |tag| "tag #{tag} of #{number}" }
  end
end

class Jobs
  attr_reader :done

  def initialize(workers)
    @queue = Queue.new
    @done = 0
    @workers = Array.new(workers) { Thread.new { loop { run(@queue.pop) } } }
  end

  def add(&job) = @queue << job

  def run(job)
    job.call
    @done += 1
  end
end

class Audit
  Entry = Struct.new(:path, :session, :answered)
  @trail = []
  class << self
    attr_reader :trail
  end

  def initialize(app)
    @app = app
  end

  def call(request)
    answer = @app.call(request)
    self.class.trail << Entry.new(request[:path].dup, request[:session].to_s, answer.dup)
    answer
  end
end

class Sessions
  def initialize(app)
    @app = app
    @known = Cache.new(50)
  end

  def call(request)
    id = request[:path].sum % 80
    @app.call(request.merge(session: @known.fetch(id) { { id: id, cart: [] } }))
  end
end

class Shop
  CACHE = Cache.new(200)
  JOBS = Jobs.new(2)

  def call(request)
    number = request[:path][/\d+/].to_i
    product = CACHE.fetch(number) { Product.new(number) }
    JOBS.add { "thank you for #{product.name}".upcase } if (number % 20).zero?
    "#{product.name} costs #{product.price}"
  end
end

APP = Sessions.new(Audit.new(Shop.new))
REQUESTS = Array.new(2, 0)
FAILED = Array.new(2, 0)
SLOWEST = Array.new(2, 0)

def serve(client)
  path = client.gets.split[1]
  body = APP.call({ path: path })
  client.write("HTTP/1.0 200 OK\r\n\r\n#{body}")
ensure
  client.close
end

def visit(port, visitor)
  number = REQUESTS[visitor] * 7 % 500
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond)
  client = TCPSocket.new("127.0.0.1", port)
  client.write("GET /products/#{number} HTTP/1.0\r\n\r\n")
  is_right = client.read.end_with?("Product #{number} costs #{number * 3}")
  client.close
  FAILED[visitor] += 1 unless is_right
  took = Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond) - start
  SLOWEST[visitor] = took if took > SLOWEST[visitor]
  REQUESTS[visitor] += 1
end

3000.times { |number| APP.call({ path: "/products/#{number}" }) }
server = TCPServer.new("127.0.0.1", 0)
port = server.addr[1]
WAITING = SizedQueue.new(20)
POOL = Array.new(4) { Thread.new { loop { serve(WAITING.pop) } } }
Thread.new { loop { WAITING << server.accept } }
2.times do |visitor|
  Thread.new do
    loop do
      visit(port, visitor)
    rescue SystemCallError, IOError
      FAILED[visitor] += 1
    end
  end
end

$stdout.puts("ready")
$stdout.flush
while $stdin.gets
  $stdout.puts("requests=#{REQUESTS.sum} failed=#{FAILED.sum} jobs=#{Shop::JOBS.done} " \
               "leaked=#{Audit.trail.size} slowest=#{SLOWEST.max}")
  SLOWEST.fill(0)
  $stdout.flush
end
exit!(0)
