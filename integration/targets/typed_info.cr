require "json"

# The types of a value and of everything that it can reference, as JSON in the form of newer
# compilers' CRYSTAL_DUMP_TYPE_INFO. Ids, sizes and offsets come from the compiler itself.
class TypeInfo
  @seen = Set(String).new
  @json = [] of String

  def of(type : T.class) : String forall T
    describe(type)
    %({"types":[#{@json.join(",")}]})
  end

  private def describe(type : T.class) : Nil forall T
    {% if T.union? %}
      {% for one in T.union_types %} describe({{one}})
      {% end %}
    {% else %}
      return unless @seen.add?(T.name)
      @json << JSON.build { |json| json.object { write(json, T) } }
      {% for var in T.instance_vars %}
        describe({{var.type}})
      {% end %}
      {% for one in T.type_vars %}
        {% if one.is_a?(TypeNode) %} describe({{one}})
      {% end %}
      {% end %}
      {% for one in T.all_subclasses %}
        {% if T < Reference %} describe({{one}})
      {% end %}
      {% end %}
    {% end %}
  end

  private def write(json : JSON::Builder, type : T.class) : Nil forall T
    json.field "name", T.name
    json.field "id", T.crystal_instance_type_id
    json.field "min_subtype_id", lowest_id(T)
    json.field "has_inner_pointers", {{T < Reference}} ? inner_pointers_of(T) : pointers_in?(T)
    json.field "size", sizeof(T)
    {% if T < Reference %}
      json.field "align", 8
      json.field "instance_size", instance_sizeof(T)
    {% end %}
    json.field "instance_vars" do
      json.array do
        {% for var in T.instance_vars %}
          json.object do
            json.field "name", "@{{var.name}}"
            json.field "type_name", type_name({{var.type}}, {{var.type.stringify}})
            json.field "offset", offsetof(T, @{{var.name}})
            json.field "size", sizeof({{var.type}})
          end
        {% end %}
      end
    end
  end

  # The compiler marks a class that has subclasses with a "+".
  private def type_name(type : T.class, name : String) : String forall T
    {{!T.union? && T < Reference && !T.all_subclasses.empty?}} ? "#{name}+" : name
  end

  private def lowest_id(type : T.class) : Int32 forall T
    lowest = T.crystal_instance_type_id
    {% if T < Reference %}
      {% for one in T.all_subclasses %}
        lowest = Math.min(lowest, {{one}}.crystal_instance_type_id)
      {% end %}
    {% end %}
    lowest
  end

  # Whether an instance holds pointers.
  private def inner_pointers_of(type : T.class) : Bool forall T
    {% for var in T.instance_vars %}
      return true if pointers_in?({{var.type}})
    {% end %}
    false
  end

  # Whether a value of that type is or holds a pointer.
  private def pointers_in?(type : T.class) : Bool forall T
    {% if T.union? %}
      {% for one in T.union_types %} return true if pointers_in?({{one}})
      {% end %}
      false
    {% elsif T < Reference || T < Pointer || T < Proc %}
      true
    {% elsif T < Tuple || T < NamedTuple || T < StaticArray %}
      {% for one in T < NamedTuple ? T.keys.map { |key| T[key] } : T.type_vars %}
        {% if one.is_a?(TypeNode) %} return true if pointers_in?({{one}})
      {% end %}
      {% end %}
      false
    {% else %}
      inner_pointers_of(T)
    {% end %}
  end
end
