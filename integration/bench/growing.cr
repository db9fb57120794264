# A program for memprof.sh: growing COUNT makes COUNT objects in 100 lists, each with a text.
#
# Prints "ready" and answers each line on standard input with one line: the milliseconds that
# MemProf's log_object_sizes takes if it is compiled in (-Dmemprof), otherwise 0.
{% if flag?(:memprof) %}
  require "perf_tools/mem_prof"
{% end %}

class Node
  def initialize(@text : String, @next : Node?)
  end
end

count = ARGV[0].to_i
lists = Array(Node?).new(100, nil)
count.times { |i| lists[i % 100] = Node.new("node #{i}", lists[i % 100]) }
puts "ready"
STDOUT.flush
while gets
  {% if flag?(:memprof) %}
    written = IO::Memory.new
    started = Time.monotonic
    PerfTools::MemProf.log_object_sizes(written)
    puts (Time.monotonic - started).total_milliseconds
  {% else %}
    puts 0
  {% end %}
  STDOUT.flush
end
