# Objects whose variables have names in different encodings, in a program with a scheduler of
# fibers that must not be asked by a copy of it. Prints "ready" and its counts, and ends when its
# input ends.

class Scheduler
  def ended(*) = exit!(3)
  %i[block unblock kernel_sleep io_read io_write].each { |name| alias_method(name, :ended) }
  def io_wait(*) = exit!(3)
  def fiber(&work) = Fiber.new(&work).resume
  def close = nil
end

class Row
  def initialize(name, value) = instance_variable_set(name, value)
end

class Note
  def initialize(number) = @number = number
end

def name_in(encoding) = "@\u8868".encode(encoding).to_sym

# The names alternate: each is in the same piece of the answer as others.
ROWS = Array.new(3000) do |number|
  encoding = number.even? ? "UTF-8" : "EUC-JP"
  Row.new(name_in(encoding), Note.new(number.to_s * 30))
end
Fiber.set_scheduler(Scheduler.new)
$stdout.puts("ready Row=#{ROWS.size}")
$stdout.flush
$stdin.gets
exit!(0)
