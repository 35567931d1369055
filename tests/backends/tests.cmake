egret_tests(backends DEPS backends runtime)
# The toolkit's headers, where there are some, serve to check backends/cuda/api/abi.h alone.
file(GLOB EGRET_CUDA_WHEELS ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*/include)
set(cuda_includes)
foreach(header cuda.h nvrtc.h cublasLt.h cudnn.h nccl.h)
  find_path(EGRET_INCLUDE_OF_${header} ${header} HINTS ${EGRET_CUDA_WHEELS}
            PATHS /usr/local/cuda/include)
  if(EGRET_INCLUDE_OF_${header})
    list(APPEND cuda_includes ${EGRET_INCLUDE_OF_${header}})
  endif()
endforeach()
if(cuda_includes)
  set_source_files_properties(backends/cuda_abi_test.cc PROPERTIES
                              COMPILE_OPTIONS "-isystem;$<JOIN:${cuda_includes},;-isystem;>")
endif()
find_path(EGRET_CUDA_STUBS libcuda.so PATHS /usr/local/cuda PATH_SUFFIXES lib64/stubs lib/stubs
          NO_DEFAULT_PATH)
set_source_files_properties(backends/dnn_graph_test.cc PROPERTIES
                            COMPILE_DEFINITIONS EGRET_CUDA_STUBS="${EGRET_CUDA_STUBS}")

# CUDA's libraries without a GPU, for whole commands: one library under the names of all.
add_library(fake_cuda SHARED backends/fake_cuda_library.cc backends/fake_cuda.cc
            backends/fake_clock.cc
            backends/fake_cudnn.cc)
target_link_libraries(fake_cuda PRIVATE egret::backends egret_warnings)
target_include_directories(fake_cuda PRIVATE ${EGRET_TEST_PATHS})
set(fake_cuda_folder ${PROJECT_BINARY_DIR}/fake_cuda)
set_target_properties(fake_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${fake_cuda_folder}
                      CXX_VISIBILITY_PRESET hidden)
foreach(name libcuda.so.1 libnvrtc.so.13 libcublasLt.so.13 libcudnn.so.9)
  add_custom_command(TARGET fake_cuda POST_BUILD
                     COMMAND ${CMAKE_COMMAND} -E create_symlink libfake_cuda.so ${name}
                     WORKING_DIRECTORY ${fake_cuda_folder})
endforeach()
