# Sessions of a type that has a derived one, as many of each as it prints, and texts of which fifty are
# equal. Two threads have sessions of their own. Waits for the end of its standard input.
import std/tables

type
  Session = ref object of RootObj
    name: string
    visits: int
  Admin = ref object of Session
    level: int
    log: seq[int]
  Item = object
    title: string
    price: int
  Cart = ref object
    items: seq[Item]
    owner: Session
    total: proc (tax: int): int {.closure.}

var sessions: seq[Session]
var carts: seq[Cart]
var prices: TableRef[string, int]
var threads: array[2, Thread[int]]
var ready, done: Channel[int]

proc totalOf(price: int): proc (tax: int): int =
  result = proc (tax: int): int = price + tax

proc fill() =
  for i in 0 ..< 1000:
    sessions.add Session(name: "guest " & $(if i < 50: 0 else: i), visits: i)
  for i in 0 ..< 2000:
    sessions.add Admin(name: "admin " & $i, visits: i, level: i, log: @[i, i + 1])
  prices = newTable[string, int]()
  for i in 0 ..< 300:
    carts.add Cart(items: @[Item(title: "book " & $i, price: i)], owner: sessions[i], total: totalOf(i))
    prices["book " & $i] = i

proc work(first: int) {.thread.} =
  var own: seq[Session]
  for i in 0 ..< 500:
    own.add Session(name: "worker " & $(first + i), visits: i)
  ready.send own.len
  discard done.recv()
  done.send own.len

ready.open()
done.open()
fill()
for i in 0 ..< 2: createThread(threads[i], work, i * 500)
let others = ready.recv() + ready.recv()
echo "ready sessions=", 1000 + others, " admins=2000 carts=300"
flushFile stdout
try:
  discard stdin.readLine()
except EOFError:
  discard
if sessions.len + carts.len + prices.len != 3600: quit 1
