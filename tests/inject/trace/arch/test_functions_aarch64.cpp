// Functions that begin like those of a collector, with one instruction of each kind that is moved
// in its own way: a signature of the return address, a branch, a mark, an address.

#ifdef __aarch64__
asm(R"(
  .text
  .balign 65536
  .globl ha_test_allocate, ha_test_allocate_end, ha_test_release, ha_test_release_end
  .globl ha_test_lead, ha_test_lead_end, ha_test_plain, ha_test_plain_end, ha_test_choose
ha_test_allocate:
  hint #25 // paciasp
  stp x29, x30, [sp, #-32]!
  str x19, [sp, #16]
  mov x19, x0
  bl ha_test_next
  ldr x19, [sp, #16]
  ldp x29, x30, [sp], #32
  hint #29 // autiasp
  ret
ha_test_allocate_end:
  .balign 16
ha_test_release:
  cbz x0, 1f
  adrp x1, ha_test_released
  ldr x2, [x1, :lo12:ha_test_released]
  add x2, x2, #1
  str x2, [x1, :lo12:ha_test_released]
1: ret
ha_test_release_end:
  .balign 16
ha_test_lead:
  hint #34 // bti c
  stp x29, x30, [sp, #-16]!
  cmp x0, #4096
  b.hi 1f
  ldp x29, x30, [sp], #16
  b ha_test_allocate
1: bl ha_test_next
  ldp x29, x30, [sp], #16
  ret
ha_test_lead_end:
  .balign 16
ha_test_plain:
  adr x9, ha_test_plain_end
  stp x29, x30, [sp, #-16]!
  adr x10, ha_test_plain_end
  cmp x9, x10
  b.ne 1f
  bl ha_test_next
  ldp x29, x30, [sp], #16
  ret
1: brk #0
ha_test_plain_end:
ha_test_choose:
  cbnz w2, ha_test_lead
  b ha_test_plain
)");
#endif
