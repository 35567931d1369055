# Installs the engine alone and builds a project of its own with it.
add_test(NAME package.the_engine_is_found_by_another_project
         COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR}
                 -DWORK=${CMAKE_CURRENT_BINARY_DIR}/package -DGENERATOR=${CMAKE_GENERATOR}
                 -DCOMPILER=${CMAKE_CXX_COMPILER} "-DFLAGS=${CMAKE_CXX_FLAGS}"
                 -P ${CMAKE_CURRENT_SOURCE_DIR}/package/install_and_build.cmake)
set_tests_properties(package.the_engine_is_found_by_another_project
                     PROPERTIES LABELS unit TIMEOUT 300)

# Installs everything and builds a project that optimizes a model. Not under sanitizers: the programs
# that write the manual pages would be instrumented.
if(NOT CMAKE_CXX_FLAGS MATCHES "sanitize")
  add_test(NAME package.all_of_egret_is_found_by_another_project
           COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR}
                   -DWORK=${CMAKE_CURRENT_BINARY_DIR}/package_all -DGENERATOR=${CMAKE_GENERATOR}
                   -DCOMPILER=${CMAKE_CXX_COMPILER} "-DFLAGS=${CMAKE_CXX_FLAGS}"
                   -P ${CMAKE_CURRENT_SOURCE_DIR}/package/install_all.cmake)
  set_tests_properties(package.all_of_egret_is_found_by_another_project
                       PROPERTIES LABELS unit TIMEOUT 300)
endif()
