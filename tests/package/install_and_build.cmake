# cmake -DBUILD= -DWORK= -DGENERATOR= -DCOMPILER= -DFLAGS= -P install_and_build.cmake
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --component egraph --prefix ${WORK}/prefix)

# The engine and what it stands on, nothing else.
file(GLOB installed RELATIVE ${WORK}/prefix ${WORK}/prefix/* ${WORK}/prefix/include/egret/*
     ${WORK}/prefix/lib/*)
list(FILTER installed EXCLUDE REGEX "^(include|lib)$")
list(SORT installed)
list(FILTER installed EXCLUDE REGEX "^include/egret$")
set(expected include/egret/base include/egret/egraph lib/cmake lib/libegret_base.a
    lib/libegret_egraph.a)
if(NOT "${installed}" STREQUAL "${expected}")
  message(FATAL_ERROR "installed: ${installed}\nexpected: ${expected}")
endif()

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/project -B ${WORK}/build -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${COMPILER} "-DCMAKE_CXX_FLAGS=${FLAGS}"
    -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/simplify "(+ 0 (* x 1))")
if(NOT output STREQUAL "x\n")
  message(FATAL_ERROR "the program printed '${output}'")
endif()
