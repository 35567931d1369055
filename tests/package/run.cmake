# run(COMMAND ...): its output is `output`. Ends with the command and its output if that fails.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${code}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
