# Lists the system calls of the processor that a compiler is for, by name, from the kernel's header:
# cmake -DCOMPILER=FILE -DOUTPUT=FILE -P list_calls.cmake
execute_process(COMMAND ${COMPILER} -E -dM -x c -include asm/unistd.h /dev/null
  OUTPUT_VARIABLE macros COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "#define __NR_[a-z0-9_]+ " names "${macros}")
list(SORT names)
set(calls "")
foreach(name ${names})
  string(REGEX REPLACE "#define __NR_([a-z0-9_]+) " "\\1" name "${name}")
  if(NOT name MATCHES "^(syscalls|arch_specific_syscall)$")  # counts and ranges
    string(APPEND calls "CallName{__NR_${name}, \"${name}\"},\n")
  endif()
endforeach()
file(WRITE ${OUTPUT} "${calls}")
