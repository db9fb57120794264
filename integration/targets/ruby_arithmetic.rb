# Writes a dump of its own heap to the file in its first argument, and prints what ObjectSpace says
# of the same objects: "ready T_STRING=9339 … Session=100".
require "objspace"

Session = Class.new
SESSIONS = Array.new(100) { Session.new }
UNNAMED = Array.new(7) { Class.new.new }

counts = {}
sizes = {}
dump = nil
# The first time fills caches. From the second counts on, nothing is allocated until the objects are
# listed, except the text itself, which a dump leaves out.
2.times do
  GC.enable
  GC.start
  GC.disable
  ObjectSpace.count_objects(counts)
  ObjectSpace.count_objects_size(sizes)
  dump = ObjectSpace.dump_all(output: :string)
end
File.binwrite(ARGV.fetch(0), dump)
counts[:in_use] = counts[:TOTAL] - counts[:FREE]
# Of all of them. What memsize_of_all leaves out is not the same in every release.
sizes.each { |kind, bytes| counts["#{kind}.bytes"] = bytes }
counts[:Session] = ObjectSpace.each_object(Session).count
puts "ready #{counts.map { |name, count| "#{name}=#{count}" }.join(" ")}"
