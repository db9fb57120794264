# Ruby programs that make a copy of them awkward to read, by what is asked for. Each prints what it has:
# "ready Pay=12 …".

class Pay
  def initialize(value) = @value = value
end

class Alpha
  def initialize(number)
    @number = number
    @first_text = "a#{number}"
  end
end

class Beta
  def initialize(number)
    @number = -number
    @second_text = "b#{number}"
  end
end

def ready(**counts)
  $stdout.puts("ready #{counts.map { |name, count| "#{name}=#{count}" }.join(" ")}")
  $stdout.flush
  $stdin.gets
end

def forget = (Array.new(20_000) { "x" * 1000 }; nil)

case ARGV.fetch(0)
when "values"  # that a dump does not have, or not as they are
  literal = -> { "https://api.example.com/v1/payments" }
  values = Array.new(5) { literal.call } + Array.new(5) { literal.call + "" }
  values += ["größe", :größe, :"in progress", "in progress", :<, nil, Float::INFINITY, 2**300]
  values << ("prefix " + "z" * 40)[3..]
  PAYS = values.map { |value| Pay.new(value) }
  ready(Pay: PAYS.size)
when "sweeping"  # a collection has found garbage, and not cleared it
  forget
  GC.start(immediate_sweep: false)
  ready(sweeping: GC.latest_gc_info(:state) == :sweeping ? 1 : 0)
when "compacting"  # the next collection moves objects
  random = Random.new(5)
  objects = Array.new(30_000) { |number| [Alpha, Beta][number % 2].new(number) }
  GC.start
  objects.select! { random.rand(10) == 0 }
  GC.auto_compact = true if GC.respond_to?(:auto_compact=)
  3.times { GC.start }
  5000.times { |number| objects << [Alpha, Beta][number % 2].new(number) }
  objects.select! { random.rand(3) == 0 }
  OBJECTS = objects
  ready(Alpha: objects.grep(Alpha).size, Beta: objects.grep(Beta).size)
when "finalizers"  # that make objects when a collection runs
  made = []
  3.times { ObjectSpace.define_finalizer(Object.new, proc { 20_000.times { made << Pay.new(0) } }) }
  PAYS = Array.new(100) { Pay.new(1) }
  ready(Pay: PAYS.size)
when "names"  # with a byte that is a backslash, in an encoding that nobody asks about
  name = "@\x95\x5c".dup.force_encoding("Shift_JIS").to_sym
  PAYS = Array.new(10) { Pay.new("a text").tap { |pay| pay.instance_variable_set(name, "another") } }
  ready(Pay: PAYS.size)
when "joins"  # two threads that wait for each other's end, or for a lock that the other one holds
  Thread.new { loop { sleep 1 } }  # Ruby itself sees no deadlock while another thread lives
  lock = Mutex.new
  wants = Thread.new do
    sleep 0.01 until lock.locked?
    lock.synchronize {}
  end
  owner = Thread.new { lock.synchronize { wants.join } }
  wants.name = "wants"
  owner.name = "owner"
  is_in = ->(thread, method) { thread.status == "sleep" && thread.backtrace.to_s.include?(method) }
  sleep 0.01 until is_in.(wants, "synchronize") && is_in.(owner, "join")
  ready(threads: 2)
when "class"  # whose name Ruby writes so that no line of the dump can be read
  name = "K\x95\x5c".dup.force_encoding("Shift_JIS").to_sym
  ODD = Object.const_set(name, Class.new).new
  PAYS = Array.new(10) { Pay.new(1) }
  ready(Pay: PAYS.size)
end
