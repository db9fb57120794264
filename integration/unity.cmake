# Compiles the sources of our targets in the units that unity.py finds. Each run of cmake keeps those of
# the one before, as far as they are still possible.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(target attach inject symbols report tests live integration)
  set(target heapattach_${target})
  if(NOT TARGET ${target})
    continue()
  endif()
  get_target_property(directory ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  cmake_path(RELATIVE_PATH directory BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE room)
  list(FILTER sources INCLUDE REGEX "^[^/].*\\.cpp$")
  list(TRANSFORM sources PREPEND ${room}/)
  set(kept ${CMAKE_BINARY_DIR}/${target}_units.txt)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/unity.py ${PROJECT_SOURCE_DIR} ${kept} ${sources}
    OUTPUT_VARIABLE units OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE ${kept} "${units}\n")
  string(REPLACE "\n" ";" units "${units}")
  foreach(unit ${units})
    string(REGEX MATCH "^([0-9]+) (.*)$" unit "${unit}")
    set_source_files_properties(${PROJECT_SOURCE_DIR}/${CMAKE_MATCH_2}
      TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${CMAKE_MATCH_1})
  endforeach()
  # gcc takes an included source for a header.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endforeach()
