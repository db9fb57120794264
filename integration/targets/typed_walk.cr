# Walks over objects as the compiler lays them out, by macros that know each type, and records every
# edge: each word that is a reference and contains the address of a heap object.

lib LibGC
  fun base = GC_base(address : Void*) : Void*
  fun block_size = GC_size(address : Void*) : LibC::SizeT
end

class Walk
  getter lines = [] of String
  @base = 0_u64
  @holder = ""

  # The instance itself: by its own class, whatever the variable's is.
  def object(value : T) : Nil forall T
    {% for one in T.all_subclasses %}
      return exactly(value.as({{one}})) if value.class == {{one}}
    {% end %}
    exactly(value)
  end

  # A weak reference is hidden from the collector: not an edge.
  def leaf(value : Reference) : Nil
    start(value.object_id, value.class.name)
  end

  def array(value : Array(T)) : Nil forall T
    buffer(value.@buffer, value.class.name)
  end

  def deque(value : Deque(T)) : Nil forall T
    buffer(value.@buffer, value.class.name)
  end

  def slice(value : Slice(T)) : Nil forall T
    buffer(value.to_unsafe, value.class.name)
  end

  def hash(value : Hash(K, V)) : Nil forall K, V
    exactly(value)
    buffer(value.@entries, value.class.name)
    buffer(value.@indices, value.class.name)
  end

  # The data that a closure captured, which no type describes: every word of it.
  def closure(value : Proc) : Nil
    return if value.closure_data.null?
    address = value.closure_data.address
    start(address, "(closure of #{value.class})")
    size = LibGC.block_size(value.closure_data)
    (0_u64...size // 8).each { |i| word(address + 8 * i, "+#{8 * i}") }
  end

  # All that fits into the block, including the part that `shift` has passed.
  private def buffer(pointer : Pointer(T), owner : String) : Nil forall T
    return if pointer.null?
    base = LibGC.base(pointer.as(Void*))
    start(base.address, "(buffer of #{owner})")
    count = LibGC.block_size(base) // sizeof(T)
    (0_u64...count).each { |i| place(T, base.address + i * sizeof(T), "[#{i}]") }
  end

  private def start(address : UInt64, name : String) : Nil
    @base = address
    @holder = name
    lines << "0x#{address.to_s(16)}\t#{name}\t\t"
  end

  private def exactly(value : T) : Nil forall T
    start(value.object_id, T.name)
    {% for var in T.instance_vars %}
      place({{var.type}}, @base + offsetof(T, @{{var.name}}), "@{{var.name}}")
    {% end %}
  end

  # The value of type T at an address. A union that is not all references is its type id and the
  # value; only the id shows which value it is.
  private def place(type : T.class, address : UInt64, path : String) : Nil forall T
    {% if T.union? %}
      {% if T.union_types.all? { |one| one < Reference || one == Nil } %}
        word(address, path)
      {% else %}
        id = Pointer(Int32).new(address).value
        {% for one in T.union_types %}
          {% if one < Reference %}
            word(address + 8, path) if id == {{one}}.crystal_instance_type_id
          {% elsif one != Nil %}
            place({{one}}, address + 8, path) if id == {{one}}.crystal_instance_type_id
          {% end %}
        {% end %}
      {% end %}
    {% elsif T < Reference || T < Pointer %}
      word(address, path)
    {% elsif T < Proc %}
      word(address + 8, path)
    {% elsif T < Tuple %}
      {% for i in 0...T.size %}
        place({{T.type_vars[i]}}, address + offsetof(T, {{i}}), "#{path}[{{i}}]")
      {% end %}
    {% elsif T < NamedTuple %}
      {% for key, i in T.keys %}
        place({{T[key]}}, address + offsetof(Tuple({{T.keys.map { |one| T[one] }.splat}}), {{i}}), "#{path}.{{key.id}}")
      {% end %}
    {% elsif T < StaticArray %}
      {{T.type_vars[1]}}.times do |i|
        place({{T.type_vars[0]}}, address + i.to_u64 * sizeof({{T.type_vars[0]}}), "#{path}[#{i}]")
      end
    {% elsif T < Struct && !(T < Number) && T != Symbol && T != Bool && T != Char %}
      {% for var in T.instance_vars %}
        place({{var.type}}, address + offsetof(T, @{{var.name}}), "#{path}{{T.name.starts_with?("Hash::Entry") ? ".".id : ".@".id}}{{var.name}}")
      {% end %}
    {% end %}
  end

  private def word(address : UInt64, path : String) : Nil
    target = LibGC.base(Pointer(Void*).new(address).value)
    return if target.null?
    lines << "0x#{@base.to_s(16)}\t#{@holder}\t#{path}\t0x#{target.address.to_s(16)}"
  end
end
