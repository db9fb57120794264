# An HTTP server under load: its own fibers send it requests over sockets for ever. It keeps a
# session for each visitor and parses and writes JSON, as servers do. Prints "ready" once a few
# hundred requests have been answered; the answer to "report" is "served=N". With the argument
# "idle" it gets no requests: its main fiber listens, as a service's does.

require "http/client"
require "http/server"
require "json"

class Visit
  include JSON::Serializable
  property path : String
  property at : Time
  property size : Int32

  def initialize(@path, @at, @size)
  end
end

class Session
  include JSON::Serializable
  property user : String
  property visits = [] of Visit
  property cart = {} of String => Int32
  property parent : Session?

  def initialize(@user, @parent = nil)
  end
end

SESSIONS = {} of String => Session
KEPT     = 20 # visits of a session, and items of a cart

class Counter
  class_property served = 0
end

def answer(context : HTTP::Server::Context)
  user = context.request.query_params["user"]? || "nobody"
  session = SESSIONS[user] ||= Session.new(user, SESSIONS.first_value?)
  if body = context.request.body
    order = JSON.parse(body)
    session.cart[order["item"].as_s] = order["count"].as_i if session.cart.size < KEPT
  end
  session.visits << Visit.new(context.request.path, Time.utc, session.cart.size)
  session.visits.shift if session.visits.size > KEPT
  context.response.content_type = "application/json"
  session.to_json(context.response)
  Counter.served += 1
end

def ask_for_ever(port : Int32, first : Int32)
  client = HTTP::Client.new("127.0.0.1", port)
  (0..).each do |i|
    user = "user-#{(first + 7919 * (i % 1000)) % 400}"
    body = {item: "item-#{i % 97}", count: i % 7}.to_json
    client.post("/shop/#{i % 31}?user=#{user}", body: body)
  end
end

server = HTTP::Server.new { |context| answer(context) }
port = server.bind_tcp("127.0.0.1", 0).port
if ARGV[0]? == "idle"
  spawn(name: "announcer") do
    30.times { Fiber.yield }
    puts "ready"
    STDOUT.flush
  end
  server.listen
end
spawn(name: "server") { server.listen }
8.times { |i| spawn(name: "client-#{i}") { ask_for_ever(port, 100_000 * i) } }
until Counter.served > 800
  sleep 10.milliseconds
end
puts "ready"
STDOUT.flush
while gets
  puts "served=#{Counter.served}"
  STDOUT.flush
end
