# The dump routine for Crystal programs: copy this file next to yours and `require` it. The library
# (-lheapattach_dump) is linked into the program, where `heapattach --inject` finds it.

@[Link("heapattach_dump")]
lib LibHeapattach
  fun heapattach_dump(path : LibC::Char*, mode : LibC::Int) : LibC::Long
end

module Heapattach
  # Writes every object that a collection finds alive, with its pointers, or with all its bytes if
  # `full`. Returns the number of objects.
  def self.dump(path : String, full : Bool = false) : Int64
    count = LibHeapattach.heapattach_dump(path, full ? 1 : 0)
    raise IO::Error.from_os_error("dumping the heap to #{path}", Errno.new((-count).to_i32)) if count < 0
    count.to_i64
  end
end

# Fails for lack of a path, but puts the routine into a program that only requires this file.
LibHeapattach.heapattach_dump(Pointer(LibC::Char).null, 0)
