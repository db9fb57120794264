# Incidents and kinds of health of a Ruby process, one for each argument; diagnose_test.cpp has the
# verdict of each.

def ready
  puts "ready"
  $stdout.flush
end

case ARGV[0]
when "deadlock"
  accounts = Mutex.new
  audit = Mutex.new
  Thread.new { accounts.synchronize { sleep 0.2; audit.synchronize { } } }
  Thread.new { audit.synchronize { sleep 0.2; accounts.synchronize { } } }
  sleep 0.6
  ready
  sleep
when "spin"
  ready
  loop { }
when "idle"
  ready
  $stdin.read
when "workers"
  jobs = Queue.new
  4.times { Thread.new { loop { jobs.pop } } }
  ready
  $stdin.read
when "cache"
  CACHE = {}
  20_000.times { |i| CACHE["key #{i}"] = "value #{i}" * 5 }
  ready
  $stdin.read
end
