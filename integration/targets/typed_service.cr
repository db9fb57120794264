# A program that knows every edge of its objects. It builds one or a few objects of each kind that a
# Crystal heap can contain, prints "ready", and answers lines of input, each with "lines=N" and N
# lines:
#
#     counts       CLASS<TAB>INSTANCES of what is alive
#     edges        ADDRESS<TAB>CLASS<TAB>PATH<TAB>TARGET of every edge of a sample of each class and
#                  of each buffer, and ADDRESS<TAB>CLASS<TAB><TAB> for each of the sample itself
#     type-info    one line, the types in the form of the compiler's CRYSTAL_DUMP_TYPE_INFO
#
# Each case has its own classes; typed_walk.cr walks over them as the compiler lays them out.

require "weak_ref"
require "./typed_walk"
require "./typed_info"

module Acme
  # A struct within a struct, with references in both.
  struct Label
    def initialize(@text : String, @weight : Int32)
    end
  end

  struct Point
    def initialize(@x : Int32, @label : Label, @y : Int64, @owner : Owner?)
    end
  end

  enum Color
    Red
    Green
    Blue
  end

  class Owner
    def initialize(@name : String)
    end
  end

  class Nested
    def initialize(@id : Int32, @owner : Owner, @point : Point, @fixed : StaticArray(Owner, 3))
    end
  end

  class Shape
    def initialize(@label : String)
    end
  end

  class Circle < Shape
    @radius = 1.5
  end

  class Square < Shape
    def initialize(@label, @corner : Owner)
    end
  end

  # Values that are references or not, or one of two classes.
  class Mixed
    def initialize(@value : Int32 | String | Owner | Nil, @either : Owner | Shape, @count : Int32 | Nil)
    end
  end

  class Paired
    def initialize(@pair : {Int32, String}, @named : {id: Int32, title: String, owner: Owner})
    end
  end

  class Node(T)
    property next_node : Node(T)?

    def initialize(@value : T, @next_node : Node(T)? = nil)
    end
  end

  class Tree
    property parent : Tree?
    getter children = [] of Tree

    def initialize(@parent = nil)
    end
  end

  # A recursive value, as JSON::Any is.
  struct Any
    def initialize(@raw : Nil | Int64 | String | Array(Any) | Hash(String, Any))
    end
  end

  class Document
    def initialize(@root : Any)
    end
  end

  class Callback
    def initialize(@call : Proc(Int32, String), @plain : Proc(Int32, Int32))
    end
  end

  # Numbers that look like pointers, and no references.
  class Numbers
    def initialize(@color : Color, @mode : Symbol, @address : UInt64, @cells : StaticArray(UInt64, 4))
    end
  end

  class Bytes
    def initialize(@bytes : Slice(UInt8), @words : Slice(UInt64))
    end
  end

  class Untyped
    def initialize(@data : Void*)
    end
  end

  class Weak
    def initialize(@ref : WeakRef(Owner))
    end
  end
end

class Store
  getter inventory = {} of String => Int32
  getter nested = [] of Acme::Nested
  getter mixed = [] of Acme::Mixed
  getter shapes = [] of Acme::Shape
  getter paired = [] of Acme::Paired
  getter points = [] of Acme::Point
  getter pairs = [] of {Int32, String}
  getter loose = [] of Int32 | String
  getter shifted = [] of Acme::Owner
  getter wrapped = Deque(Acme::Owner).new
  getter by_name = {} of String => Acme::Owner
  getter by_number = {} of Int32 => Acme::Point
  getter plain = {} of Int32 => Int32
  getter numbers = [] of Int32
  getter addresses = [] of UInt64
  getter looks = [] of Acme::Numbers
  getter bytes = [] of Acme::Bytes
  getter callbacks = [] of Acme::Callback
  getter documents = [] of Acme::Document
  getter boxes = [] of Box({Int32, String})
  getter untyped = [] of Acme::Untyped
  getter weak = [] of Acme::Weak
  property chain : Acme::Node(Acme::Owner)?
  property texts : Acme::Node({String, Int32})?
  property tree : Acme::Tree?
end

STORE = Store.new

def owner(i : Int32) : Acme::Owner
  Acme::Owner.new("owner-#{i}")
end

def alive(name : String, count : Int32)
  STORE.inventory[name] = count
end

def make_plain_classes
  10.times do |i|
    point = Acme::Point.new(i, Acme::Label.new("label-#{i}", i), 7_i64, i.odd? ? owner(i) : nil)
    fixed = StaticArray(Acme::Owner, 3).new { |j| owner(j) }
    STORE.nested << Acme::Nested.new(i, owner(i), point, fixed)
    STORE.points << point
    STORE.pairs << {i, "pair-#{i}"}
    STORE.loose << (i.odd? ? i : "loose-#{i}")
    STORE.paired << Acme::Paired.new({i, "one-#{i}"}, {id: i, title: "two-#{i}", owner: owner(i)})
    STORE.shapes << (i.odd? ? Acme::Circle.new("round-#{i}") : Acme::Square.new("square-#{i}", owner(i)))
    STORE.boxes << Box.new({i, "box-#{i}"})
  end
  values = [nil, 5, "text-#{STORE.nested.size}", owner(1)]
  values.each_with_index do |value, i|
    STORE.mixed << Acme::Mixed.new(value, i.odd? ? owner(i) : Acme::Circle.new("mixed-#{i}"), i.odd? ? i : nil)
  end
  STORE.tree = tree = Acme::Tree.new
  3.times { tree.children << Acme::Tree.new(tree) }
  5.times { |i| STORE.chain = Acme::Node(Acme::Owner).new(owner(i), STORE.chain) }
  5.times { |i| STORE.texts = Acme::Node({String, Int32}).new({"node-#{i}", i}, STORE.texts) }
end

# Containers with a history: shifted, wrapped around, with holes.
def make_containers
  40.times { |i| STORE.shifted << owner(i) }
  7.times { STORE.shifted.shift }
  20.times { |i| STORE.wrapped << owner(i) }
  12.times { STORE.wrapped.shift }
  10.times { |i| STORE.wrapped << owner(i) }
  50.times do |i|
    STORE.by_name["key-#{i}"] = owner(i)
    STORE.by_number[i] = Acme::Point.new(i, Acme::Label.new("number-#{i}", i), 0_i64, nil)
  end
  10.times { |i| STORE.by_name.delete("key-#{3 * i}") }
  5.times { |i| STORE.by_number.delete(i) }
end

# Numbers that are the addresses of objects: a scan of them finds edges.
def make_lookalikes
  address = STORE.nested[0].object_id
  60.times do |i|
    STORE.numbers << (i.even? ? (address & 0xffffffff_u64).to_u32!.to_i32! : (address >> 32).to_i32)
    STORE.plain[(address & 0xffffffff_u64).to_u32!.to_i32! + i] = (address >> 32).to_i32
    STORE.addresses << address
  end
  3.times do
    cells = StaticArray(UInt64, 4).new(address)
    STORE.looks << Acme::Numbers.new(Acme::Color::Green, :fast, address, cells)
    STORE.bytes << Acme::Bytes.new(Slice(UInt8).new(64, 1_u8), Slice(UInt64).new(8) { address })
  end
end

def callback(kept : Acme::Owner, word : String) : Acme::Callback
  Acme::Callback.new(->(i : Int32) { "#{word}#{i}#{kept}" }, ->(i : Int32) { i + 1 })
end

def make_rest
  3.times do |i|
    STORE.callbacks << callback(owner(i), "word-#{i}")
    list = [Acme::Any.new(1_i64), Acme::Any.new("any-#{i}"), Acme::Any.new(nil)]
    table = {"list" => Acme::Any.new(list), "key-#{i}" => Acme::Any.new("value-#{i}")}
    STORE.documents << Acme::Document.new(Acme::Any.new(table))
    STORE.untyped << Acme::Untyped.new(Box.box({"void-#{i}", i}))
    STORE.weak << Acme::Weak.new(WeakRef.new(STORE.nested[i].@owner))
  end
end

def take_inventory
  # nested: one, three fixed, odd points; shapes; paired; mixed: one value, two either; the lists.
  owners = 10 + 30 + 5 + 5 + 10 + 1 + 2 + 5 + 33 + 18 + 40 + 3
  alive("Acme::Owner", owners)
  {Nested: 10, Circle: 5 + 2, Square: 5, Mixed: 4, Paired: 10, Tree: 4, Document: 3, Callback: 3,
   Numbers: 3, Bytes: 3, Untyped: 3, Weak: 3}.each { |name, count| alive("Acme::#{name}", count) }
  alive("Acme::Node(Acme::Owner)", 5)
  alive("Acme::Node(Tuple(String, Int32))", 5)
  alive("Array(Acme::Tree)", 4)
  alive("Array(Acme::Any)", 3)
  alive("Hash(String, Acme::Any)", 3)
  alive("Box(Tuple(Int32, String))", 10)
  alive("Box(Tuple(String, Int32))", 3)
  alive("WeakRef(Acme::Owner)", 3)
  alive("Store", 1)
end

def print_edges
  walk = Walk.new
  walk.object(STORE)
  {% for name in %w(nested mixed shapes paired looks bytes callbacks documents boxes untyped weak) %}
    STORE.{{name.id}}.each { |one| walk.object(one) }
    walk.array(STORE.{{name.id}})
  {% end %}
  {% for name in %w(points pairs loose shifted numbers addresses) %}
    walk.array(STORE.{{name.id}})
  {% end %}
  STORE.nested.each { |nested| walk.object(nested.@owner) }
  STORE.weak.each { |weak| walk.leaf(weak.@ref) }
  STORE.callbacks.each { |callback| walk.closure(callback.@call) }
  STORE.bytes.each { |bytes| walk.slice(bytes.@bytes); walk.slice(bytes.@words) }
  walk.deque(STORE.wrapped)
  walk.hash(STORE.by_name)
  walk.hash(STORE.by_number)
  walk.hash(STORE.plain)
  STORE.documents.each do |document|
    table = document.@root.@raw.as(Hash(String, Acme::Any))
    walk.hash(table)
    walk.array(table["list"].@raw.as(Array(Acme::Any)))
  end
  if (tree = STORE.tree) && (chain = STORE.chain) && (texts = STORE.texts)
    walk.object(tree)
    walk.array(tree.children)
    tree.children.each { |child| walk.object(child) }
    walk.object(chain)
    walk.object(texts)
  end
  answer(walk.lines)
end

def answer(lines : Array(String))
  puts "lines=#{lines.size}"
  lines.each { |line| puts line }
  STDOUT.flush
end

def run
  made = Channel(Nil).new
  # All leftovers of this stay on the stack of a fiber that ends.
  spawn(name: "maker") do
    make_plain_classes
    make_containers
    make_lookalikes
    make_rest
    take_inventory
    made.send(nil)
  end
  made.receive
  10.times { Fiber.yield }
  GC.collect
  puts "ready"
  STDOUT.flush
  while question = gets
    case question
    when "counts"    then answer(STORE.inventory.map { |name, count| "#{name}\t#{count}" })
    when "edges"     then print_edges
    when "type-info" then answer([TypeInfo.new.of(Store)])
    end
  end
end

run
