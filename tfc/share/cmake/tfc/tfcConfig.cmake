# Libraries that tfc makes of tensor programs, for CMake 3.16 or later.
#
#   find_package(tfc REQUIRED)
#   tfc_library(digits
#     GRAPH digits.onnx            # any file that `tfcompile --graph` reads, or module:function
#     CPP_CLASS demo::Digits
#     [CONFIG digits.config.pbtxt] # of a TensorFlow graph: what to feed and to fetch
#     [TARGET_TRIPLE triple] [CPU names] [TARGET_CPU name] [TARGET_FEATURES list]
#     [BATCH_SIZES n…] [DYNAMIC_BATCH most] # rows along first dimensions that are open
#     [ENTRY_POINT name] [TFCOMPILE_FLAGS flag…] [DEPENDS file…]
#     [NO_TEST] [NO_BENCHMARK])
#
# makes the library `digits` with the header "digits.h"; `digits_test`, a program that runs the class
# once, which ctest knows if testing is enabled; and `digits_benchmark`, which measures Run().
# When cross-compiling, TARGET_TRIPLE says for which machine; left out, it is that of the compiler.
#
# find_package finds this file by -Dtfc_DIR="$(tfc --cmakedir)", or, if tfc was installed from a wheel,
# beside the programs on PATH.

get_filename_component(_tfc_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(TFC_SOURCES "${CMAKE_CURRENT_LIST_DIR}")
find_program(TFC_TFCOMPILE tfcompile HINTS "${_tfc_prefix}/bin" "${_tfc_prefix}/Scripts")
if(NOT TFC_TFCOMPILE)
  set(tfc_FOUND FALSE)
  set(tfc_NOT_FOUND_MESSAGE "the program tfcompile is not on PATH: activate the environment of tfc")
  return()
endif()

function(tfc_library name)
  set(flags NO_TEST NO_BENCHMARK)
  set(values GRAPH CONFIG CPP_CLASS TARGET_TRIPLE CPU TARGET_CPU TARGET_FEATURES ENTRY_POINT
             DYNAMIC_BATCH)
  cmake_parse_arguments(
    PARSE_ARGV 1 arg "${flags}" "${values}" "TFCOMPILE_FLAGS;DEPENDS;BATCH_SIZES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tfc_library(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(needed GRAPH CPP_CLASS)
    if(NOT arg_${needed})
      message(FATAL_ERROR "tfc_library(${name}) needs ${needed}")
    endif()
  endforeach()

  # What the library is made of: files, or a function of a Python module in this folder.
  set(depends ${arg_DEPENDS})
  foreach(file GRAPH CONFIG)
    if(arg_${file})
      get_filename_component(path "${arg_${file}}" ABSOLUTE)
      if(EXISTS "${path}" OR NOT arg_${file} MATCHES "^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_]")
        set(arg_${file} "${path}")
        list(APPEND depends "${path}")
      else()
        string(REGEX REPLACE ":.*" "" module "${arg_${file}}")
        string(REPLACE "." "/" module "${module}")
        if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${module}.py")
          list(APPEND depends "${CMAKE_CURRENT_SOURCE_DIR}/${module}.py")
        endif()
      endif()
    endif()
  endforeach()
  if(CMAKE_CROSSCOMPILING AND NOT arg_TARGET_TRIPLE)
    set(arg_TARGET_TRIPLE "${CMAKE_CXX_COMPILER_TARGET}")
    if(NOT arg_TARGET_TRIPLE)
      message(FATAL_ERROR "tfc_library(${name}): cross-compiling needs TARGET_TRIPLE, "
                          "such as aarch64-linux-gnu")
    endif()
  endif()

  set(header "${CMAKE_CURRENT_BINARY_DIR}/${name}.h")
  set(object "${CMAKE_CURRENT_BINARY_DIR}/${name}_tfc${CMAKE_CXX_OUTPUT_EXTENSION}")
  set(options --graph "${arg_GRAPH}" --cpp_class "${arg_CPP_CLASS}"
              --out_header "${header}" --out_function_object "${object}")
  string(REPLACE ";" "," arg_BATCH_SIZES "${arg_BATCH_SIZES}")
  foreach(option CONFIG TARGET_TRIPLE CPU TARGET_CPU TARGET_FEATURES ENTRY_POINT BATCH_SIZES
                 DYNAMIC_BATCH)
    if(arg_${option})
      string(TOLOWER "${option}" flag)
      list(APPEND options --${flag} "${arg_${option}}")
    endif()
  endforeach()
  add_custom_command(
    OUTPUT "${header}" "${object}"
    COMMAND "${TFC_TFCOMPILE}" ${options} ${arg_TFCOMPILE_FLAGS}
    DEPENDS ${depends}
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    COMMENT "Compiling ${arg_GRAPH} into ${arg_CPP_CLASS}"
    VERBATIM)
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  add_library(${name} STATIC "${object}" "${header}")
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(${name} PUBLIC "$<BUILD_INTERFACE:${CMAKE_CURRENT_BINARY_DIR}>")
  target_compile_features(${name} PUBLIC cxx_std_11)
  if(UNIX)
    target_link_libraries(${name} PUBLIC m)
  endif()

  if(NOT arg_NO_TEST)
    _tfc_program(${name} test "${arg_CPP_CLASS}")
    add_test(NAME ${name}_test COMMAND ${name}_test)
  endif()
  if(NOT arg_NO_BENCHMARK)
    _tfc_program(${name} benchmark "${arg_CPP_CLASS}")
  endif()
endfunction()

# A program of a source file that is for any class.
function(_tfc_program name what class)
  add_executable(${name}_${what} "${TFC_SOURCES}/${what}.cc")
  target_compile_definitions(
    ${name}_${what} PRIVATE "TFC_HEADER=\"${name}.h\"" "TFC_CLASS=${class}")
  target_link_libraries(${name}_${what} PRIVATE ${name})
endfunction()
