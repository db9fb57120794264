# The fifth shape beside those of shapes.c: shapes COUNT makes COUNT / 5 orders, each with a text, an
# array and two lines, in a hash. Prints "ready" and answers each line on standard input as shapes.c does.
class Line
  def initialize(@number : Int32, @next : Line?)
  end
end

class Order
  def initialize(@name : String, @lines : Array(Line))
  end
end

count = ARGV[0].to_i // 5
orders = {} of Int32 => Order
count.times do |i|
  first = Line.new(i, nil)
  orders[i] = Order.new("order number #{i}", [first, Line.new(i + 1, first)])
end
puts "ready"
STDOUT.flush
while question = gets
  if question == "collect"
    started = Time.monotonic
    GC.collect
    puts (Time.monotonic - started).total_milliseconds
  else
    puts 5 * orders.size
  end
  STDOUT.flush
end
