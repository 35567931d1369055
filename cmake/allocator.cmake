# Programs that ask for it allocate with mimalloc where it is installed: saturation and proofs make and drop
# small objects on every thread, and with it take a fifth less time than with glibc's malloc. Off
# under sanitizers, which bring their own. Libraries leave the choice to who links them.

option(EGRET_MIMALLOC "Programs allocate with mimalloc where it is installed" ON)
if(EGRET_MIMALLOC)
  find_package(mimalloc 2 QUIET)
endif()
if(TARGET mimalloc)
  set_property(GLOBAL APPEND PROPERTY EGRET_LIBRARIES mimalloc)  # for `egret doctor`
endif()

# Linked though no symbol of it is asked for by name.
function(egret_allocator program)
  if(TARGET mimalloc)
    target_link_libraries(${program} PRIVATE -Wl,--push-state,--no-as-needed mimalloc -Wl,--pop-state)
  endif()
endfunction()

# Its sources may set the allocator's options, where the program that it becomes a part of has it.
function(egret_allocator_options library)
  if(TARGET mimalloc)
    target_compile_definitions(${library} PRIVATE EGRET_WITH_MIMALLOC)
    target_include_directories(${library} SYSTEM PRIVATE
                               $<TARGET_PROPERTY:mimalloc,INTERFACE_INCLUDE_DIRECTORIES>)
  endif()
endfunction()
