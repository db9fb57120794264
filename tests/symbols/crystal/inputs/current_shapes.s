# What Crystal from 1.16 on puts into a program, in small: ids in read-only globals of their own, code that
# loads them from there, code that stores them as constants, symbols that a linker cut at "@", and the table
# of the names of classes. Nothing here is ever run.

    .text

    .macro function name
    .p2align 4
    .globl "\name"
    .type "\name", @function
"\name":
    .endm

    .macro end_function name
    .size "\name", . - "\name"
    .endm

    function __crystal_malloc64
    ret
    end_function __crystal_malloc64
    function __crystal_malloc_atomic64
    ret
    end_function __crystal_malloc_atomic64
    function GC_malloc
    ret
    end_function GC_malloc

# The id comes from the type's global: by its address, by its address in a table, or at once.
    function "*Shop::Session::new<Int32>:Shop::Session"
    push %rax
    xor %eax, %eax
    mov %eax, %edi
    add $0x28, %rdi
    call __crystal_malloc64
    mov %rax, (%rsp)
    lea "Shop::Session:type_id"(%rip), %rcx
    mov (%rcx), %ecx
    mov %ecx, (%rax)
    mov (%rsp), %rax
    pop %rcx
    ret
    end_function "*Shop::Session::new<Int32>:Shop::Session"

    function "*Shop::Cart"
    push %rax
    mov $0x20, %edi
    call __crystal_malloc64
    mov relocated(%rip), %rcx
    mov (%rcx), %ecx
    mov %ecx, (%rax)
    pop %rcx
    ret
    end_function "*Shop::Cart"

    function "*Shop::Tag"
    push %rax
    mov $0xc, %edi
    call __crystal_malloc_atomic64
    mov "Shop::Tag:type_id"(%rip), %ecx
    mov %ecx, (%rax)
    pop %rcx
    ret
    end_function "*Shop::Tag"

# As before 1.16, the symbol cut: "*Channel(Job)@Channel(T)::new:Channel(Job)".
    function "*Channel(Job)"
    push %rax
    mov $0x30, %edi
    call __crystal_malloc64
    movl $6, (%rax)
    pop %rcx
    ret
    end_function "*Channel(Job)"

# With the runtime's wrapper inlined, as --release has it, a method of one class may make another's.
    function "*Helper"
    push %rax
    mov $0x40, %edi
    call GC_malloc
    movl $7, (%rax)
    pop %rcx
    ret
    end_function "*Helper"

    .section .rodata, "a"
    .macro type_id name, id
    .p2align 2
    .globl "\name:type_id"
    .type "\name:type_id", @object
    .size "\name:type_id", 4
"\name:type_id":
    .long \id
    .endm

    type_id "Shop::Session", 2
    type_id "Shop::Cart", 3
    type_id "Shop::Tag", 4
    type_id "Int32", 12

    .macro literal label, text
    .p2align 3
\label:
    .long 1
    .long 9f - 8f
    .long 9f - 8f
8:  .ascii "\text"
9:  .byte 0
    .endm

    literal nil, "Nil"
    literal string, "String"
    literal session, "Shop::Session"
    literal cart, "Shop::Cart"
    literal tag, "Shop::Tag"
    literal job, "Job"
    literal channel, "Channel(Job)"
    literal order, "Shop::Order"
    literal reference, "Reference"
    literal int, "Int32"
    literal value, "Value"
    literal object, "Object"

    .section .data.rel.ro, "aw"
    .p2align 3
relocated:
    .quad "Shop::Cart:type_id"
    .ifdef WITH_TABLE
# Ends like one, but is none.
    .quad nil
    .quad string
    .quad 1
    .type __crystal_type_id_to_class_name_map, @object
__crystal_type_id_to_class_name_map:
    .quad nil, string, session, cart, tag, job, channel, order, reference, 0, 0, 0, int, value, object
    .size __crystal_type_id_to_class_name_map, . - __crystal_type_id_to_class_name_map
    .endif
