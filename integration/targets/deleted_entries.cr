# A store of sessions, of which nearly all have ended: Crystal 1.6's Hash#delete, compiled with
# --release, leaves the key and the value where they were, so that they live as long as the table.
# Without the defect (-Dmended), the entry is cleared.
#
# Prints "ready open=N kept=N": how many sessions are open, and how many of a hundred that have ended are
# still there, as their finalizers say. Then it waits for the end of its standard input.

{% if flag?(:mended) %}
  class Hash(K, V)
    private def delete_entry(index) : Nil
      (@entries + index).as(UInt8*).clear(sizeof(Entry(K, V)))
    end
  end
{% end %}

class Session
  def initialize(@token : String)
    @visits = 0
  end
end

# One that says when it is gone.
class WatchedSession < Session
  class_property gone = 0

  def finalize
    self.class.gone += 1
  end
end

class Store
  getter sessions = {} of Int32 => Session
end

STORE    = Store.new
SESSIONS = 20_000
OPEN     =     10
WATCHED  =    100

def fill
  SESSIONS.times do |number|
    token = "session #{number} " * 8
    is_watched = OPEN <= number < OPEN + WATCHED
    STORE.sessions[number] = is_watched ? WatchedSession.new(token) : Session.new(token)
  end
  (OPEN...SESSIONS).each { |number| STORE.sessions.delete(number) }
end

fill
# Finalizers run after the collection that finds their objects.
4.times do
  GC.collect
  Fiber.yield
end
raise "its table is wrong" if STORE.sessions.size != OPEN
puts "ready open=#{OPEN} kept=#{WATCHED - WatchedSession.gone}"
STDOUT.flush
STDIN.gets
