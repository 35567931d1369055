egret_fuzzer(json_fuzzer DEPS base)
egret_fuzzer(toml_fuzzer DEPS base)
egret_fuzzer(onnx_import_fuzzer DEPS frontends)
