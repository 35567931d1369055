egret_tests(tools DEPS tools base cost frontends ir rules)
add_dependencies(tools_tests egret egret_check egret_check_rule fake_cuda)
target_sources(tools_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/backends/fake_cuda.cc
               ${CMAKE_CURRENT_SOURCE_DIR}/backends/fake_clock.cc
               ${CMAKE_CURRENT_SOURCE_DIR}/backends/fake_cudnn.cc
               ${CMAKE_CURRENT_SOURCE_DIR}/backends/small_network.cc)

# Minutes rather than seconds: ctest -L slow.
file(GLOB slow_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/slow/*.cc)
egret_program(tools_slow_tests SOURCES ${slow_sources} ${CMAKE_CURRENT_LIST_DIR}/program_run.cc
              DEPS base frontends EXTERNAL GTest::gtest GTest::gmock GTest::gtest_main)
target_include_directories(tools_slow_tests PRIVATE ${EGRET_TEST_PATHS})
add_dependencies(tools_slow_tests egret)
gtest_discover_tests(tools_slow_tests PROPERTIES LABELS slow TIMEOUT 1800 DISCOVERY_TIMEOUT 60)
