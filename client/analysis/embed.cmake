# Makes one HTML page of flame/, and C of that:
# cmake -DOUT=... -DESBUILD=... -DNODE_MODULES=... -P embed.cmake
# The page lets only this very script and this style run, which it names by their hashes; therefore
# they must stand in it byte for byte.

include(${CMAKE_CURRENT_LIST_DIR}/bundle.cmake)
set(DIR ${CMAKE_CURRENT_LIST_DIR}/flame)

# The base64 of a SHA-256 in hex, as Content-Security-Policy has it: 42 digits of the first 252 bits,
# one of the last four, and one '='.
function(base64_of_hash hex ret)
  set(digits ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(text "")
  foreach(i RANGE 0 63 3)
    string(SUBSTRING "${hex}0" ${i} 3 part)
    string(LENGTH "${part}" length)
    if(length EQUAL 3)
      math(EXPR high "0x${part} >> 6")
      math(EXPR low "0x${part} & 63")
    else() # the last digit and the 0 behind it: four bits, and two that are none
      math(EXPR high "0x${part} >> 2")
      set(low -1)
    endif()
    string(SUBSTRING "${digits}" ${high} 1 digit)
    string(APPEND text "${digit}")
    if(low GREATER -1)
      string(SUBSTRING "${digits}" ${low} 1 digit)
      string(APPEND text "${digit}")
    endif()
  endforeach()
  set(${ret} "${text}=" PARENT_SCOPE)
endfunction()

bundle(${DIR}/page.js ${OUT}.script.js script)
bundle(${DIR}/style.css ${OUT}.style.css style)
read_page(${DIR}/page.html page)
foreach(part script style)
  string(SHA256 hash "${${part}}")
  base64_of_hash(${hash} hash)
  string(TOUPPER ${part} name)
  string(REPLACE "@${name}_HASH@" "sha256-${hash}" page "${page}")
  string(REPLACE "@${name}@" "${${part}}" page "${page}")
endforeach()

string(FIND "${page}" "@DATA@" at)
string(SUBSTRING "${page}" 0 ${at} head)
math(EXPR at "${at} + 6")
string(SUBSTRING "${page}" ${at} -1 tail)
set(c "/* Made of client/analysis/flame/ by embed.cmake. */\n#include \"client/analysis/flame.h\"\n\n")
foreach(part head tail)
  file(WRITE ${OUT}.${part} "${${part}}")
  bytes_of(${OUT}.${part} bytes)
  file(REMOVE ${OUT}.${part})
  string(APPEND c "const unsigned char flame_page_${part}[] = {${bytes}};\n"
    "const size_t flame_page_${part}_length = sizeof(flame_page_${part});\n")
endforeach()
file(WRITE ${OUT} "${c}")
