egret_tests(verifier DEPS verifier)
