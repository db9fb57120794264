# A small session store with a leak, to try heapattach on: it serves logins from several fibers, and
# forgets to drop sessions after logout from one of its two indexes.
#
# Prints "ready" once the store is filled, and serves until it is killed.

module Shop
  class User
    getter name : String
    getter email : String

    def initialize(@name, @email)
    end
  end

  class CartItem
    getter product : String
    getter cents : Int32

    def initialize(@product, @cents)
    end
  end

  class Session
    getter token : String
    getter user : User
    getter cart = [] of CartItem
    property? open = true

    def initialize(@token, @user)
    end
  end

  class SessionStore
    def initialize
      @by_token = {} of String => Session
      @history = [] of Session
    end

    def login(user : User) : Session
      session = Session.new("#{user.name}-#{@history.size}", user)
      @by_token[session.token] = session
      @history << session # the leak: nobody ever takes it out again
      session
    end

    def logout(session : Session)
      session.open = false
      @by_token.delete(session.token)
    end

    def open : Int32
      @by_token.size
    end
  end

  PRODUCTS = %w(tea coffee cocoa)
  USERS    = Array(User).new(500) { |i| User.new("user-#{i}", "user-#{i}@example.org") }
  STORE    = SessionStore.new

  def self.visit(number : Int32, stays : Bool)
    session = STORE.login(USERS[number % USERS.size])
    2.times { |i| session.cart << CartItem.new(PRODUCTS[(number + i) % PRODUCTS.size], 250 + i) }
    STORE.logout(session) unless stays
  end
end

20_000.times { |number| Shop.visit(number, stays: number % 100 == 0) }

requests = Channel(Int32).new(16)
4.times do
  spawn(name: "worker") do
    loop { Shop.visit(requests.receive, stays: false) }
  end
end

puts "ready"
STDOUT.flush
number = 0
loop do
  requests.send(number += 1)
  sleep 0.01
end
