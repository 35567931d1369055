# Writes the manual pages and completions of the program EGRET below OUTPUT, as they lie in share/.
#   cmake -DEGRET=bin/egret -DVERBS=tools/frame/verbs.def -DOUTPUT=pages -P cmake/write_pages.cmake
function(write path)
  execute_process(COMMAND ${EGRET} ${ARGN} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE ${OUTPUT}/${path} "${text}")
endfunction()

file(REMOVE_RECURSE ${OUTPUT})
write(man/man1/egret.1 man)
file(STRINGS ${VERBS} rows REGEX "^EGRET_VERB")
foreach(row ${rows})
  string(REGEX REPLACE "EGRET_VERB\\((.*)\\)" "\\1" verb ${row})
  string(REPLACE "_" "-" page ${verb})
  string(REPLACE "_" ";" words ${verb})  # rules_list is `rules list`, but train_step is `train-step`
  execute_process(COMMAND ${EGRET} man ${words} RESULT_VARIABLE unknown OUTPUT_QUIET ERROR_QUIET)
  if(unknown)
    set(words ${page})
  endif()
  write(man/man1/egret-${page}.1 man ${words})
endforeach()
write(bash-completion/completions/egret completion bash)
write(zsh/site-functions/_egret completion zsh)
write(fish/vendor_completions.d/egret.fish completion fish)
