# Results of `egret optimize` against an implementation of another make: ONNX Runtime and ONNX's
# checker, from the project's Python environment. Skipped where it or the data is missing.
find_package(Python3 3.9 COMPONENTS Interpreter)
if(Python3_FOUND AND TARGET egret)
  foreach(models node_models case_models random_models hostile_models open_models)
    add_test(NAME oracle.${models}
             COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/oracle/${models}.py $<TARGET_FILE:egret>)
    set_tests_properties(oracle.${models} PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77 PROCESSORS 2)
  endforeach()
  # Some hundred single nodes; the long campaign has 50,000 (docs/engines.md).
  add_test(NAME oracle.operator_matrix
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/oracle/operator_matrix.py --count 3)
  set_tests_properties(oracle.operator_matrix PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77 PROCESSORS 2
                       ENVIRONMENT PYTHONPATH=${PROJECT_BINARY_DIR}/python)
endif()
