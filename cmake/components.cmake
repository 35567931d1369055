# What the build can use, for `egret version` and `egret doctor`: one egret_component() each.
# Whether a component is linked, or opened when it is used, is read off the libraries that
# egret_library() and egret_opened_library() made and, through them, off all they link, so the answer
# cannot drift from the build. Folders do their own
# find_package(); this file only looks.

set_property(GLOBAL PROPERTY EGRET_COMPONENTS "")

# All of a list of libraries, and what they link, directly or through other targets, in lower case
# and without folders: "boost::json;protobuf::libprotobuf-lite;libdnnl.so;...".
function(egret_linked_items out)
  set(pending ${ARGN})
  set(seen)
  set(names)
  while(pending)
    list(POP_FRONT pending item)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" item "${item}")
    if(item IN_LIST seen)
      continue()
    endif()
    list(APPEND seen "${item}")
    get_filename_component(name "${item}" NAME)
    string(TOLOWER "${name}" name)
    list(APPEND names "${name}")
    if(TARGET "${item}")
      get_target_property(links ${item} INTERFACE_LINK_LIBRARIES)
      if(links)
        list(APPEND pending ${links})
      endif()
    endif()
  endwhile()
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

# egret_component("oneDNN" PURPOSE ".." VERSION x [REQUIRED] LINKS regex REMEDY "..")
# LINKS matches the start of a package's, target's or library's name ("dnnl": egret::dnnl,
# libdnnl.so); REQUIRED says that a folder's find_package() does.
function(egret_component name)
  cmake_parse_arguments(C "REQUIRED" "PURPOSE;VERSION;LINKS;REMEDY" "" ${ARGN})
  get_property(linked GLOBAL PROPERTY EGRET_LIBRARIES)
  get_property(opened GLOBAL PROPERTY EGRET_OPENED_LIBRARIES)
  egret_linked_items(linked ${linked})
  egret_linked_items(opened ${opened})
  set(name_regex "(^|:|^lib|:lib)(${C_LINKS})")
  list(FILTER linked INCLUDE REGEX "${name_regex}")
  list(FILTER opened INCLUDE REGEX "${name_regex}")
  set(use "kNone")
  if(linked)
    set(use "kLinked")
  elseif(opened)
    set(use "kOpened")
  endif()
  set(required false)
  if(C_REQUIRED)
    set(required true)
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY EGRET_COMPONENTS
    "    {\"${name}\", \"${C_PURPOSE}\", \"${C_VERSION}\", ${required}, LibraryUse::${use},\n     \"${C_REMEDY}\"},\n")
endfunction()

# A macro of a header as a version part: egret_header_number(out file NAME).
function(egret_header_number out file name)
  set(value "")
  if(EXISTS "${file}")
    file(STRINGS "${file}" lines REGEX "#[ \t]*define[ \t]+${name}[ \t]+\"?[0-9.]+")
    string(REGEX MATCH "${name}[ \t]+\"?([0-9.]+)" _ "${lines}")
    set(value "${CMAKE_MATCH_1}")
  endif()
  set(${out} "${value}" PARENT_SCOPE)
endfunction()

# Debian's version of a package's header without a macro for it: "present".
function(egret_present out)
  find_path(path_${out} NAMES ${ARGN} NO_CACHE)
  set(${out} "" PARENT_SCOPE)
  if(path_${out})
    set(${out} "present" PARENT_SCOPE)
  endif()
endfunction()

function(egret_find_components)
  egret_component("Boost" PURPOSE "containers, JSON, exact integers" VERSION "${Boost_VERSION_STRING}"
    REQUIRED LINKS "boost" REMEDY "apt install libboost1.81-dev libboost-json1.81-dev")
  find_package(CLI11 QUIET)
  egret_component("CLI11" PURPOSE "the command line" VERSION "${CLI11_VERSION}" REQUIRED
    LINKS "cli11" REMEDY "apt install libcli11-dev")

  # Not through its CMake package: Debian's demands OpenCL, which the CPU kernels do not need.
  find_path(dnnl_folder oneapi/dnnl/dnnl_version.h NO_CACHE)
  set(dnnl_version "")
  if(dnnl_folder)
    set(dnnl_header "${dnnl_folder}/oneapi/dnnl/dnnl_version.h")
    egret_header_number(dnnl_major "${dnnl_header}" DNNL_VERSION_MAJOR)
    egret_header_number(dnnl_minor "${dnnl_header}" DNNL_VERSION_MINOR)
    egret_header_number(dnnl_patch "${dnnl_header}" DNNL_VERSION_PATCH)
    set(dnnl_version "${dnnl_major}.${dnnl_minor}.${dnnl_patch}")
  endif()
  egret_component("oneDNN" PURPOSE "fast CPU kernels" VERSION "${dnnl_version}" REQUIRED
    LINKS "dnnl" REMEDY "apt install libdnnl-dev, then build again")
  find_package(Protobuf QUIET)
  egret_component("protobuf" PURPOSE "reading and writing ONNX" VERSION "${Protobuf_VERSION}"
    REQUIRED LINKS "protobuf" REMEDY "apt install libprotobuf-dev protobuf-compiler, then build again")
  find_path(libzip_folder zipconf.h NO_CACHE)
  set(libzip_version "")
  if(libzip_folder)
    file(STRINGS "${libzip_folder}/zipconf.h" libzip_line REGEX "define LIBZIP_VERSION \"")
    string(REGEX REPLACE ".*\"(.*)\".*" "\\1" libzip_version "${libzip_line}")
  endif()
  egret_component("libzip" PURPOSE "arrays in .npz files" VERSION "${libzip_version}" REQUIRED
    LINKS "zip" REMEDY "apt install libzip-dev, then build again")
  find_package(SQLite3 QUIET)
  egret_component("SQLite" PURPOSE "the cost database" VERSION "${SQLite3_VERSION}" REQUIRED
    LINKS "sqlite" REMEDY "apt install libsqlite3-dev, then build again")

  find_path(z3_folder z3_version.h PATH_SUFFIXES z3 NO_CACHE)
  set(z3_version "")
  if(z3_folder)
    egret_header_number(z3_version "${z3_folder}/z3_version.h" Z3_FULL_VERSION)
    egret_header_number(z3_major "${z3_folder}/z3_version.h" Z3_MAJOR_VERSION)
    egret_header_number(z3_minor "${z3_folder}/z3_version.h" Z3_MINOR_VERSION)
    egret_header_number(z3_build "${z3_folder}/z3_version.h" Z3_BUILD_NUMBER)
    set(z3_version "${z3_major}.${z3_minor}.${z3_build}")
  endif()
  egret_component("Z3" PURPOSE "proofs of rewrite rules, extraction by MaxSAT" VERSION "${z3_version}" LINKS "z3"
    REMEDY "apt install libz3-dev, then build again")
  egret_present(cvc5 cvc5/cvc5.h)
  egret_component("cvc5" PURPOSE "second opinion on proofs" VERSION "${cvc5}" LINKS "cvc5"
    REMEDY "apt install libcvc5-dev, then build again")
  egret_present(cbc coin/Cbc_C_Interface.h)
  egret_component("CBC" PURPOSE "optimal extraction" VERSION "${cbc}" LINKS "cbc"
    REMEDY "apt install coinor-libcbc-dev, then build again")
  set(highs "")  # extract/ looks for it, in .venv too
  if(HIGHS_INCLUDE)
    egret_header_number(highs_major "${HIGHS_INCLUDE}/HConfig.h" HIGHS_VERSION_MAJOR)
    egret_header_number(highs_minor "${HIGHS_INCLUDE}/HConfig.h" HIGHS_VERSION_MINOR)
    egret_header_number(highs_patch "${HIGHS_INCLUDE}/HConfig.h" HIGHS_VERSION_PATCH)
    set(highs "${highs_major}.${highs_minor}.${highs_patch}")
  endif()
  egret_component("HiGHS" PURPOSE "optimal extraction, second solver" VERSION "${highs}"
    LINKS "highs" REMEDY "run scripts/setup.sh, which installs highsbox into .venv, then build again")
  egret_component("mimalloc" PURPOSE "faster allocation" VERSION "${mimalloc_VERSION}"
    LINKS "mimalloc" REMEDY "apt install libmimalloc-dev, then build again")
  # MPI's own CMake module asks for a C compiler, which this project has no use for.
  egret_present(mpi x86_64-linux-gnu/mpi/mpi.h openmpi/mpi.h mpi.h)
  egret_component("MPI" PURPOSE "runs on several machines" VERSION "${mpi}" LINKS "mpi"
    REMEDY "apt install libopenmpi-dev openmpi-bin, then build again")
endfunction()

# Generates build_info.cc into the target; the revision is looked up at each build.
function(egret_write_build_info target)
  egret_find_components()
  get_property(EGRET_COMPONENT_ROWS GLOBAL PROPERTY EGRET_COMPONENTS)
  string(REGEX MATCHALL "\n    {|^    {" rows "${EGRET_COMPONENT_ROWS}")
  list(LENGTH rows EGRET_COMPONENT_COUNT)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}" EGRET_ALL_CXX_FLAGS)
  configure_file(${PROJECT_SOURCE_DIR}/tools/frame/build_info.cc.in
                 ${CMAKE_CURRENT_BINARY_DIR}/build_info.cc @ONLY)
  set(revision ${CMAKE_CURRENT_BINARY_DIR}/revision.h)
  add_custom_target(egret_revision
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${revision} -DSOURCE=${PROJECT_SOURCE_DIR}
            -P ${PROJECT_SOURCE_DIR}/cmake/write_revision.cmake
    BYPRODUCTS ${revision} COMMENT "" VERBATIM)
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/build_info.cc)
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/build_info.cc PROPERTIES
    OBJECT_DEPENDS ${revision} COMPILE_OPTIONS "-include;${revision}")
  add_dependencies(${target} egret_revision)
endfunction()
