find_package(Python3 3.9 COMPONENTS Interpreter)

# Counts that stand for speed (gate.py). Those of a Release build: others execute other instructions,
# and sanitizers run for minutes.
if(Python3_FOUND AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT CMAKE_CXX_FLAGS MATCHES "sanitize")
  foreach(script gate gate_test)
    set(program --egret $<TARGET_FILE:egret>)
    if(script STREQUAL "gate_test")
      set(program $<TARGET_FILE:egret>)
    endif()
    add_test(NAME gate.${script}
             COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/gate/${script}.py ${program})
    set_tests_properties(gate.${script} PROPERTIES LABELS unit TIMEOUT ${EGRET_TEST_TIMEOUT})
  endforeach()
endif()
