egret_tests(zoo DEPS zoo)
