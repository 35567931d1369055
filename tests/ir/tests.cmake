egret_tests(ir DEPS ir)

# Timings, not tests: build/<preset>/bin/interpreter_bench.
find_package(benchmark QUIET)
if(benchmark_FOUND)
  egret_program(interpreter_bench SOURCES ${CMAKE_CURRENT_LIST_DIR}/bench/interpreter_bench.cc
                DEPS base ir EXTERNAL benchmark::benchmark)
endif()
