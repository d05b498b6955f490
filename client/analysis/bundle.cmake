# What pages are made with: of modules one file, of parts one document, of bytes C.
# Needs ESBUILD, the program, and NODE_MODULES, the directory of Debian's packages of modules.

# @from: a .js or .css file, with all that it imports.
function(bundle from to ret)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env NODE_PATH=${NODE_MODULES}
    ${ESBUILD} ${from} --bundle --minify --charset=utf8 --log-level=warning --outfile=${to}
    COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${to} text)
  set(${ret} "${text}" PARENT_SCOPE)
endfunction()

# @file: HTML, with the elements of flame graphs in place of @CONTROLS@, @GRAPH@ and @AIDS@.
function(read_page file ret)
  file(READ ${file} page)
  foreach(part controls graph aids)
    file(READ ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/flame/${part}.html text)
    string(TOUPPER ${part} name)
    string(REPLACE "@${name}@" "${text}" page "${page}")
  endforeach()
  set(${ret} "${page}" PARENT_SCOPE)
endfunction()

function(bytes_of file ret)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  set(${ret} "${bytes}" PARENT_SCOPE)
endfunction()
