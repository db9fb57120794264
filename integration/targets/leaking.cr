# A shop whose visitors come and go, with three leaks to choose from. Each question is answered once
# that many visitors have been served: "serve=N" leaks nothing; "cache=N" keeps what it looked up
# for ever, "closure=N" keeps a closure that captured its request, "fiber=N" starts fibers that wait
# for ever on a channel. "note=N" keeps that many copies of one text. The answer is "served=N", the
# total so far.

class Product
  getter name : String

  def initialize(@name)
  end
end

class Request
  getter path : String
  getter body : Bytes

  def initialize(@path)
    @body = Bytes.new(200)
  end
end

class Job
  getter request : Request
  getter done = Channel(Int32).new

  def initialize(@request)
  end
end

class Shop
  @products = {} of String => Product
  @observers = [] of -> String
  @notes = [] of String
  property served = 0

  # Forgets to evict.
  def look_up(name : String) : Product
    @products[name] ||= Product.new(name)
  end

  # Nothing ever unregisters it.
  def observe(request : Request)
    @observers << -> { request.path }
  end

  # Writes the same text again each time.
  def note
    @notes << String.build { |text| text << "sold out, " << "and nobody told the visitor" }
  end

  # Nothing will be sent.
  def wait_for(request : Request)
    job = Job.new(request)
    spawn(name: "waiter") { finish(job) }
  end

  def finish(job : Job)
    job.done.receive
    observe(job.request)
  end
end

SHOP = Shop.new

def serve(leak : String, number : Int32)
  request = Request.new("/product/#{number}")
  case leak
  when "cache"   then SHOP.look_up(request.path)
  when "closure" then SHOP.observe(request)
  when "fiber"   then SHOP.wait_for(request)
  when "note"    then SHOP.note
  else                request.body[0] = 1_u8
  end
  SHOP.served += 1
end

# Not in the waiting loop, whose stack would keep references.
@[NoInline]
def serve_all(leak : String, count : Int32)
  count.times { serve(leak, SHOP.served) }
  Fiber.yield
end

serve_all("serve", 2000)
puts "ready"
STDOUT.flush
while line = gets
  leak, _, count = line.partition('=')
  serve_all(leak, count.to_i? || 0)
  puts "served=#{SHOP.served}"
  STDOUT.flush
end
