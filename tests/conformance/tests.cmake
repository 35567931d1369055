# ONNX's own backend tests (Debian package libonnx-testdata) and the shared models.
find_path(EGRET_ONNX_TESTDATA node/test_abs/model.onnx
          PATHS /usr/lib/python3/dist-packages/onnx/backend/test/data
          DOC "Folder of ONNX backend test data")
egret_tests(conformance DEPS backends driver frontends)
target_compile_definitions(conformance_tests PRIVATE
                           EGRET_ONNX_TESTDATA="${EGRET_ONNX_TESTDATA}")
# The same cases by kernels emitted for the host, each compiled.
add_test(NAME conformance.codegen COMMAND conformance_tests)
set_tests_properties(conformance.codegen PROPERTIES LABELS slow TIMEOUT 7200
                     ENVIRONMENT "EGRET_CONFORMANCE_BACKEND=codegen;${EGRET_TEST_ENVIRONMENT}")
# And on the default backend, by emitted kernels for all that it has none of its own for, which are
# otherwise not worth a compiler's time in models as small as these.
add_test(NAME conformance.emitted COMMAND conformance_tests)
set_tests_properties(conformance.emitted PROPERTIES LABELS slow TIMEOUT 7200
                     ENVIRONMENT "EGRET_CONFORMANCE_EMIT_ALL=1;${EGRET_TEST_ENVIRONMENT}")
# And on the CUDA backend, over functions that stand in for a GPU.
add_test(NAME conformance.cuda COMMAND conformance_tests)
set_tests_properties(conformance.cuda PROPERTIES LABELS slow TIMEOUT 7200
                     ENVIRONMENT "EGRET_CONFORMANCE_BACKEND=cuda;EGRET_CUDA_LIBRARIES=${PROJECT_BINARY_DIR}/fake_cuda;${EGRET_TEST_ENVIRONMENT}")
# And by kernels of the CPU backend that compute in bf16, within what that explains.
add_test(NAME conformance.bf16 COMMAND conformance_tests)
set_tests_properties(conformance.bf16 PROPERTIES LABELS slow TIMEOUT 7200
                     ENVIRONMENT "EGRET_CONFORMANCE_BACKEND=cpu;EGRET_CONFORMANCE_PRECISION=bf16;${EGRET_TEST_ENVIRONMENT}")
