egret_tests(extract DEPS extract)
