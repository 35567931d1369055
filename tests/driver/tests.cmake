egret_tests(driver DEPS driver zoo)
