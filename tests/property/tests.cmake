egret_tests(property DEPS driver)
