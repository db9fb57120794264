# Sessions of a type that has a derived one, as many of each as it prints, and texts of which fifty are
# equal. Waits for the end of its standard input.
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

var sessions: seq[Session]
var carts: seq[Cart]

proc fill() =
  for i in 0 ..< 1000:
    sessions.add Session(name: "guest " & $(if i < 50: 0 else: i), visits: i)
  for i in 0 ..< 2000:
    sessions.add Admin(name: "admin " & $i, visits: i, level: i, log: @[i, i + 1])
  for i in 0 ..< 300:
    carts.add Cart(items: @[Item(title: "book " & $i, price: i)], owner: sessions[i])

fill()
echo "ready sessions=1000 admins=2000 carts=300"
flushFile stdout
try:
  discard stdin.readLine()
except EOFError:
  discard
if sessions.len + carts.len != 3300: quit 1
