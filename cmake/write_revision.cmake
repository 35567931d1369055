cmake_minimum_required(VERSION 3.25)
# Writes the source revision to OUTPUT, touching it only when the text changes.
set(revision "unknown")
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty=+ --abbrev=12 --exclude=*
                OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                RESULT_VARIABLE failed)
if(NOT failed)
  set(revision "${found}")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define EGRET_REVISION \"@revision@\"\n" @ONLY)
