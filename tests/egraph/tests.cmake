egret_tests(egraph DEPS egraph)

# Minutes rather than seconds: ctest -L slow.
file(GLOB slow_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/slow/*.cc)
egret_program(egraph_slow_tests SOURCES ${slow_sources} DEPS egraph
              EXTERNAL GTest::gtest GTest::gmock GTest::gtest_main)
gtest_discover_tests(egraph_slow_tests PROPERTIES LABELS slow TIMEOUT 1800 DISCOVERY_TIMEOUT 60)
