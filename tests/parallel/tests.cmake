egret_tests(parallel DEPS parallel runtime zoo)
