// The assembly for x86-64 and arm64. Only what the C calling convention makes a callee keep is
// saved; rounding modes and the like are the same in all kernels.
#include "switch.h"

#include <stdint.h>

#if defined(__x86_64__)

// Two ways to the same end. A return is right where the callers return too: the processor guesses
// its target from the calls it saw. At a barrier fibres stand at different calls, and that guess is
// wrong each time; a jump is guessed from history, and costs 7 ns instead of 20.
asm(R"(
.macro openmps_switch_stacks
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
.endm

.text
.p2align 4
.globl openmps_switch
.hidden openmps_switch
.type openmps_switch,@function
openmps_switch:
  openmps_switch_stacks
  ret
.size openmps_switch,.-openmps_switch

.p2align 4
.globl openmps_switch_by_jump
.hidden openmps_switch_by_jump
.type openmps_switch_by_jump,@function
openmps_switch_by_jump:
  openmps_switch_stacks
  popq %rcx
  jmpq *%rcx
.size openmps_switch_by_jump,.-openmps_switch_by_jump

.p2align 4
.globl openmps_enter
.hidden openmps_enter
.type openmps_enter,@function
openmps_enter:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $8, %rsp
  movq %rsp, (%rdi)
  movq %rcx, %rsp
  movq %rdx, %rdi
  xorl %ebp, %ebp
  callq *%rsi
  ud2
.globl openmps_finish
.hidden openmps_finish
.type openmps_finish,@function
openmps_finish:
  movq %rdi, %rsp
  xorl %eax, %eax
  jmp 1f
.globl openmps_left
.hidden openmps_left
.type openmps_left,@function
openmps_left:
  cld
  movl $1, %eax
1:
  addq $8, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size openmps_enter,.-openmps_enter
)");

namespace openmps {

void* fresh_context(char* top, void (*function)()) {
  uint64_t* slot = reinterpret_cast<uint64_t*>(top);
  *--slot = 0;  // where a return address would be: ends backtraces, aligns the stack
  *--slot = reinterpret_cast<uint64_t>(function);
  for (int i = 0; i < 6; ++i) *--slot = 0;
  return slot;
}

}  // namespace openmps

#elif defined(__aarch64__)

asm(R"(
.macro openmps_save
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
.endm

.macro openmps_load
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
.endm

.text
.p2align 4
.globl openmps_switch
.hidden openmps_switch
.type openmps_switch,%function
openmps_switch:
  openmps_save
  mov sp, x1
  openmps_load
  ret
.size openmps_switch,.-openmps_switch

.p2align 4
.globl openmps_switch_by_jump
.hidden openmps_switch_by_jump
.type openmps_switch_by_jump,%function
openmps_switch_by_jump:
  openmps_save
  mov sp, x1
  openmps_load
)"
#if defined(__ARM_FEATURE_BTI_DEFAULT)
    // With branch protection a jump may only reach a landing pad, and where calls return is none.
    "  ret\n"
#else
    "  br x30\n"
#endif
    R"(
.size openmps_switch_by_jump,.-openmps_switch_by_jump

.p2align 4
.globl openmps_enter
.hidden openmps_enter
.type openmps_enter,%function
openmps_enter:
  openmps_save
  mov x9, x1
  mov x0, x2
  mov sp, x3
  mov x29, xzr
  blr x9
  brk #1
.globl openmps_finish
.hidden openmps_finish
.type openmps_finish,%function
openmps_finish:
  mov sp, x0
  mov w0, #0
  b 1f
.globl openmps_left
.hidden openmps_left
.type openmps_left,%function
openmps_left:
  mov w0, #1
1:
  openmps_load
  ret
.size openmps_enter,.-openmps_enter
)");

namespace openmps {

void* fresh_context(char* top, void (*function)()) {
  uint64_t* slot = reinterpret_cast<uint64_t*>(top) - 20;
  for (int i = 0; i < 20; ++i) slot[i] = 0;
  slot[11] = reinterpret_cast<uint64_t>(function);  // x30, where `ret` goes
  return slot;
}

}  // namespace openmps

#else
#error "openmps runs kernels on x86-64 and arm64"
#endif
