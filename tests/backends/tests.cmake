egret_tests(backends DEPS backends)
# The toolkit's headers, where there are some, serve to check backends/cuda/abi.h alone.
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
