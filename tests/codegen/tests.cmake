egret_tests(codegen DEPS backends rules)
