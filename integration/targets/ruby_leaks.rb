# A leak of 20,000 Sessions, held in the way that its argument names. It prints "ready", and then
# hangs for good in the midst of a collection.
require "fiddle"

module Blog
  class Session
    def initialize(number)
      @user = "user-#{number}" * 3
    end
  end

  class Cache
    @entries = {}
    class << self
      attr_reader :entries
    end
  end

  def self.later(sessions) = -> { sessions.size }
end

def sessions = Array.new(20_000) { |number| Blog::Session.new(number) }

Fiber.new do  # whose stack nothing is left on
  case ARGV.fetch(0)
  when "global" then $history = sessions
  when "closure" then Blog::AFTER = Blog.later(sessions)
  when "class" then sessions.each_with_index { |one, n| Blog::Cache.entries["key-#{n}"] = one }
  when "thread_variable" then Thread.main.thread_variable_set(:seen, sessions)
  when "finalizer"
    held = sessions
    ObjectSpace.define_finalizer(Blog::Cache, proc { held.size })
  end
end.resume
# Of the fiber itself.
Thread.current[:seen] = sessions if ARGV.first == "thread_local"
GC.start
$stdout.puts("ready")
$stdout.flush
# An object whose function for marking waits for a signal, for ever.
wrap = Fiddle::Function.new(Fiddle::Handle::DEFAULT["rb_data_object_wrap"],
                            [Fiddle::TYPE_VOIDP] * 4, Fiddle::TYPE_VOIDP, need_gvl: true)
pause = Fiddle::Handle::DEFAULT["pause"]
KEPT = Fiddle.dlunwrap(wrap.call(Fiddle.dlwrap(Object), 1, pause, 0).to_i)
GC.start
