# Variant objects, whose fields depend on a discriminator: as references and as values, with several
# fields in a branch, one `case` inside another, two in one type, and JSON. Each Item is in a field
# of a branch; its price is its number. Prints how many objects there are, and how many Items the
# Events have, and waits for the end of its standard input.
import std/json

type
  Item = ref object
    price: int
  Kind = enum kNumber, kText, kItem, kItems, kNothing
  Variant = ref object
    case kind: Kind
    of kNumber: number: int
    of kText: text: string
    of kItem: item: Item
    of kItems:
      count: int
      items: seq[Item]
    of kNothing: discard
  Token = object
    at: int
    case isWord: bool
    of true: word: Item
    else: code: int
  Event = ref object of RootObj
    case kind: range[0 .. 9]
    of 0, 3, 4: sender: Item
    of 1: number: int
    else:
      case isLate: bool
      of true: delay: int
      of false: target: Item
  Pair = ref object
    case isLeft: bool
    of true: left: Item
    of false: lost: int
    case isRight: bool
    of true: right: Item
    of false: missing: int
  Store = ref object
    variants: seq[Variant]
    tokens: seq[Token]
    events: seq[Event]
    pairs: seq[Pair]
    single: Token
    row: array[4, Token]
    json: JsonNode

var
  store = Store()
  alone: Token
  items = 0
  itemsOfEvents = 0

proc newItem(): Item =
  inc items
  Item(price: items)

proc addVariants() =
  for i in 0 ..< 100:
    case i mod 5
    of 0: store.variants.add Variant(kind: kNumber, number: i)
    of 1: store.variants.add Variant(kind: kText, text: "text " & $i)
    of 2: store.variants.add Variant(kind: kItem, item: newItem())
    of 3: store.variants.add Variant(kind: kItems, count: 2, items: @[newItem(), newItem()])
    else: store.variants.add Variant(kind: kNothing)

proc addTokens() =
  for i in 0 ..< 60:
    if i mod 3 == 0: store.tokens.add Token(at: i, isWord: true, word: newItem())
    else: store.tokens.add Token(at: i, isWord: false, code: i)
  store.single = Token(at: 1, isWord: true, word: newItem())
  store.row[2] = Token(at: 2, isWord: true, word: newItem())
  alone = Token(at: 3, isWord: true, word: newItem())

proc addEvents() =
  for i in 0 ..< 50:
    case i mod 5
    of 0: store.events.add Event(kind: 3, sender: newItem())
    of 1: store.events.add Event(kind: 1, number: i)
    of 2: store.events.add Event(kind: 7, isLate: false, target: newItem())
    of 3: store.events.add Event(kind: 9, isLate: true, delay: i)
    else: store.events.add Event(kind: 0, sender: newItem())

proc addPairs() =
  for i in 0 ..< 40:
    var pair = Pair(isLeft: i mod 2 == 0, isRight: i mod 4 < 2)
    if pair.isLeft: pair.left = newItem()
    if pair.isRight: pair.right = newItem()
    store.pairs.add pair

proc fill() =
  addVariants()
  addTokens()
  let before = items
  addEvents()
  itemsOfEvents = items - before
  addPairs()
  store.json = %*{"shop": {"name": "corner shop", "prices": [1, 2, 3]}}

proc overwriteStack() =
  var zeros: array[4096, int]
  for i in 0 ..< zeros.len: zeros[i] = 0
  if zeros[17] == 1: echo zeros[18]

fill()
overwriteStack()
GC_fullCollect()
echo "ready items=", items, " event_items=", itemsOfEvents, " variants=", store.variants.len, " events=", store.events.len,
  " pairs=", store.pairs.len, " nodes=7"
flushFile stdout
try:
  discard stdin.readLine()
except EOFError:
  discard
if store.variants.len + alone.at == 0: quit 1
