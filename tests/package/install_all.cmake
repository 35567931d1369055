# Installs everything, runs the installed program, and builds a project with egret::egret.
#   cmake -DBUILD= -DWORK= -DGENERATOR= -DCOMPILER= -DFLAGS= -P install_all.cmake
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

# docs/installing.md shows the project that is built here.
file(READ ${CMAKE_CURRENT_LIST_DIR}/../../docs/installing.md page)
foreach(file CMakeLists.txt optimizer.cc)
  file(READ ${CMAKE_CURRENT_LIST_DIR}/optimizer/${file} text)
  string(FIND "${page}" "\n${text}```\n" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "docs/installing.md does not show tests/package/optimizer/${file}")
  endif()
endforeach()

file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
foreach(file bin/egret include/egret/driver/optimize.h lib/libegret_driver.a
        share/man/man1/egret.1 share/man/man1/egret-rules-verify.1
        share/man/man1/egret-train-step.1 share/bash-completion/completions/egret
        share/zsh/site-functions/_egret share/fish/vendor_completions.d/egret.fish)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()
run(${prefix}/bin/egret zoo squeezenet1.1 -o ${WORK}/m.onnx)

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/optimizer -B ${WORK}/build -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${COMPILER} "-DCMAKE_CXX_FLAGS=${FLAGS}" -DCMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/optimizer ${WORK}/m.onnx ${WORK}/o.onnx)
if(NOT output MATCHES "^(rewritten|unchanged)\n$")
  message(FATAL_ERROR "the program printed '${output}'")
endif()
run(${prefix}/bin/egret compare ${WORK}/m.onnx ${WORK}/o.onnx)
file(REMOVE_RECURSE ${WORK})
