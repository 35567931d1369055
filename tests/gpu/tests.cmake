# What needs a GPU: skipped with the reason where there is none. scripts/gpu_check.sh takes the
# program to a machine that has one.
egret_program(gpu_tests SOURCES gpu/device_kernels_test.cc gpu/device_graphs_test.cc
              gpu/device_collectives_test.cc
              codegen/kernel_batch.cc codegen/sample_kernels.cc codegen/sample_contractions.cc
              backends/graph_compare.cc
              backends/attention_block.cc backends/small_network.cc
              backends/tail_network.cc
              DEPS backends rules runtime
              EXTERNAL GTest::gtest GTest::gmock GTest::gtest_main)
target_include_directories(gpu_tests PRIVATE ${EGRET_TEST_PATHS})
gtest_discover_tests(gpu_tests PROPERTIES LABELS "unit;gpu" TIMEOUT ${EGRET_TEST_TIMEOUT}
                     ENVIRONMENT "${EGRET_TEST_ENVIRONMENT}" DISCOVERY_TIMEOUT 60)
