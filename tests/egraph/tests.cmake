egret_tests(egraph DEPS egraph)

# The C++ of docs/egraph.md, compiled and run.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(egraph_page ${CMAKE_CURRENT_BINARY_DIR}/egraph_page_test.cc)
set(extract_examples ${PROJECT_SOURCE_DIR}/scripts/extract_examples.py)
add_custom_command(
  OUTPUT ${egraph_page}
  COMMAND Python3::Interpreter ${extract_examples} ${PROJECT_SOURCE_DIR}/docs/egraph.md
          ${egraph_page} EGraphPage
  DEPENDS ${PROJECT_SOURCE_DIR}/docs/egraph.md ${extract_examples} VERBATIM)
target_sources(egraph_tests PRIVATE ${egraph_page})

# Minutes rather than seconds: ctest -L slow.
file(GLOB slow_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/slow/*.cc)
set(replay_sources explanation_replay explanation_workload explanation_theories certificate_checker
    certificate_mutation)
list(TRANSFORM replay_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
list(TRANSFORM replay_sources APPEND .cc)
egret_program(egraph_slow_tests SOURCES ${slow_sources} ${replay_sources} DEPS egraph
              EXTERNAL GTest::gtest GTest::gmock GTest::gtest_main)
target_include_directories(egraph_slow_tests PRIVATE ${EGRET_TEST_PATHS})
gtest_discover_tests(egraph_slow_tests PROPERTIES LABELS slow TIMEOUT 1800 DISCOVERY_TIMEOUT 60)

# Not a test: build/<preset>/bin/egraph_benchmarks.
find_package(benchmark QUIET)
if(benchmark_FOUND)
  egret_program(egraph_benchmarks
                SOURCES ${CMAKE_CURRENT_LIST_DIR}/benchmarks/egraph_benchmarks.cc
                        ${PROJECT_SOURCE_DIR}/tools/egraph_bench/instruction_counter.cc
                DEPS egraph EXTERNAL benchmark::benchmark)
endif()
