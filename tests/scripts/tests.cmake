find_package(Python3 3.9 COMPONENTS Interpreter)
# The Python of scripts/setup.sh has numpy, without which some cases of `compilers` are skipped.
set(compilers_python ${PROJECT_SOURCE_DIR}/.venv/bin/python)
if(Python3_FOUND)
  foreach(script check_commands check_layers check_links check_prose compilers relay_frames
                 experiment_tables gpu_waves make_reference run_examples)
    set(interpreter ${Python3_EXECUTABLE})
    if(EXISTS "${${script}_python}")
      set(interpreter ${${script}_python})
    endif()
    add_test(NAME scripts.${script}
             COMMAND ${interpreter} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/${script}_test.py)
    set_tests_properties(scripts.${script} PROPERTIES LABELS unit)
  endforeach()
endif()
