find_package(Python3 3.9 COMPONENTS Interpreter)
if(Python3_FOUND)
  foreach(script check_commands check_layers check_links check_prose compilers delay_frames
                 experiment_tables gpu_waves make_reference run_examples)
    add_test(NAME scripts.${script}
             COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/${script}_test.py)
    set_tests_properties(scripts.${script} PROPERTIES LABELS unit)
  endforeach()
endif()
