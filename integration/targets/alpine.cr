# A service as Alpine Linux ships them: cross-compiled with --release, linked statically with musl, stripped.
# integration/alpine.sh builds and inspects it. It prints
#     ready sessions=N items=N leaked=N
# which are the instances of its classes, and the allocations of malloc that it has forgotten. With
# -Dcertificates, it forgets certificates of OpenSSL, too, and prints certificates=N. It answers each line with
# "done" after it has forgotten as many again, and has replaced each session with a new one.

{% if flag?(:certificates) %}
  require "openssl"

  lib LibCrypto
    fun x509_new = X509_new : Void*
  end
{% end %}

lib LibC
  fun calloc(count : SizeT, bytes : SizeT) : Void*
end

class Item
  def initialize(@number : Int32, @next : Item?)
  end
end

class Session
  def initialize(@name : String, @items : Item?)
  end
end

module Service
  SESSIONS = [] of Session
  COUNT    = 2000
  FORGOTTEN = 300

  @[NoInline]
  def self.fill
    SESSIONS.clear
    COUNT.times do |i|
      items = nil.as(Item?)
      3.times { |n| items = Item.new(n, items) }
      SESSIONS << Session.new("session #{i}", items)
    end
  end

  # The compiler must believe that the memory is used.
  @[NoInline]
  def self.forget
    FORGOTTEN.times do
      memory = LibC.calloc(1, 48)
      asm("" :: "r"(memory) : "memory" : "volatile")
    end
    {% if flag?(:certificates) %}
      FORGOTTEN.times { LibCrypto.x509_new }
    {% end %}
  end

  # Overwrites what was left on the stack.
  @[NoInline]
  def self.wipe_stack
    words = uninitialized UInt8[65536]
    words.to_unsafe.clear(65536)
  end
end

Service.fill
Service.forget
Service.wipe_stack
spawn(name: "waiter") { Channel(Int32).new.receive }
spawn(name: "sleeper") { sleep 1000 }
Fiber.yield
GC.collect
certificates = {{ flag?(:certificates) ? " certificates=300" : "" }}
puts "ready sessions=#{Service::COUNT} items=#{3 * Service::COUNT} leaked=#{Service::FORGOTTEN}#{certificates}"
STDOUT.flush
while STDIN.gets
  Service.fill
  Service.forget
  Service.wipe_stack
  puts "done"
  STDOUT.flush
end
