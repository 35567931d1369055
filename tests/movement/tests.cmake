# Counts are those of AVX2, whatever the processor has: blocks of channels are narrower there.
file(GLOB movement_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/movement/*.cc)
egret_program(movement_tests SOURCES ${movement_sources} backends/graph_compare.cc DEPS backends
              EXTERNAL GTest::gtest GTest::gtest_main)
add_test(NAME movement.movement_tests COMMAND movement_tests)
set_tests_properties(movement.movement_tests PROPERTIES LABELS unit TIMEOUT ${EGRET_TEST_TIMEOUT}
                     ENVIRONMENT "ONEDNN_MAX_CPU_ISA=AVX2;${EGRET_TEST_ENVIRONMENT}")
