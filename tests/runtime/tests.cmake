egret_tests(runtime DEPS runtime)
# CUDA's and NCCL's libraries without a GPU.
target_sources(runtime_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/backends/fake_cuda.cc
               ${CMAKE_CURRENT_SOURCE_DIR}/backends/fake_clock.cc
               ${CMAKE_CURRENT_SOURCE_DIR}/backends/fake_cudnn.cc)
