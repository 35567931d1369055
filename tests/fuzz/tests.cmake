egret_fuzzer(json_fuzzer DEPS base)
egret_fuzzer(egraph_json_fuzzer DEPS egraph)
egret_fuzzer(toml_fuzzer DEPS base)
egret_fuzzer(onnx_import_fuzzer DEPS frontends)
