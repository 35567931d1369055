egret_tests(tools DEPS tools base cost frontends ir rules)
add_dependencies(tools_tests egret fake_cuda)
target_sources(tools_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/backends/fake_cuda.cc
               ${CMAKE_CURRENT_SOURCE_DIR}/backends/fake_clock.cc
               ${CMAKE_CURRENT_SOURCE_DIR}/backends/fake_cudnn.cc
               ${CMAKE_CURRENT_SOURCE_DIR}/backends/small_network.cc)
