// Functions that begin like those of a collector.

#ifdef __x86_64__
asm(R"(
  .text
  .balign 4096
  .globl ha_test_allocate, ha_test_allocate_end, ha_test_release, ha_test_release_end
  .globl ha_test_lead, ha_test_lead_end, ha_test_plain, ha_test_plain_end, ha_test_choose
ha_test_allocate:
  push %r15
  push %r14
  push %rbx
  mov %rdi, %rbx
  call ha_test_next
  pop %rbx
  pop %r14
  pop %r15
  ret
ha_test_allocate_end:
  .balign 16
ha_test_release:
  test %rdi, %rdi
  je 1f
  incq ha_test_released(%rip)
1: ret
ha_test_release_end:
  .balign 16
ha_test_lead:
  push %rbx
  mov %rdi, %rbx
  cmp $4096, %rdi
  ja 1f
  mov %rbx, %rdi
  pop %rbx
  jmp ha_test_allocate
1: call ha_test_next
  pop %rbx
  ret
ha_test_lead_end:
  .balign 16
ha_test_plain:
  push %rbx
  mov %rdi, %rbx
  xor %eax, %eax
  call ha_test_next
  pop %rbx
  ret
ha_test_plain_end:
ha_test_choose:
  test %edx, %edx
  jne ha_test_lead
  jmp ha_test_plain
)");
#endif
