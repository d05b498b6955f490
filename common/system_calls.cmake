# SPDX-License-Identifier: MIT
#
# Writes ${OUT}, the table of common/system_calls.h. The compiler, ${COMPILER} with ${FLAGS}, says
# which names its <asm/unistd.h> has, and when the table is compiled what their numbers are: both
# for the architecture that is built for, which need not be this one.
separate_arguments(FLAGS UNIX_COMMAND "${FLAGS}")
file(WRITE ${OUT}.c "#include <asm/unistd.h>\n")
execute_process(COMMAND ${COMPILER} ${FLAGS} -E -dM ${OUT}.c OUTPUT_VARIABLE macros
  COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE ${OUT}.c)
string(REGEX MATCHALL "#define __NR_[a-z0-9_]+ " macros "${macros}")
# How many there are, and where those of an architecture begin, are no system calls.
list(FILTER macros EXCLUDE REGEX "__NR_(syscalls|arch_specific_syscall) ")
list(SORT macros)
set(rows "")
foreach(macro ${macros})
  string(REGEX REPLACE "#define __NR_(.*) " "\\1" name "${macro}")
  string(APPEND rows "\t[__NR_${name}] = \"${name}\",\n")
endforeach()
if(rows STREQUAL "")
  message(FATAL_ERROR "<asm/unistd.h> has no system calls")
endif()
file(WRITE ${OUT} "#include \"common/system_calls.h\"

#include <asm/unistd.h>

const char *const system_call_names[] = {
${rows}};

const size_t n_system_call_names = sizeof(system_call_names) / sizeof(system_call_names[0]);
")
