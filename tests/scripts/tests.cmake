find_package(Python3 3.9 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME scripts.check_layers
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/check_layers_test.py)
  set_tests_properties(scripts.check_layers PROPERTIES LABELS unit)
endif()
