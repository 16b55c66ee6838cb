"""Libraries that tfc makes of tensor programs, for Bazel.

    load("//third_party/tfc:tf_library.bzl", "tf_library")
    tf_library(name = "digits", graph = "digits.onnx", cpp_class = "demo::Digits")

makes the cc_library `digits` with the header "digits.h", the cc_test `digits_test` and the cc_binary
`digits_benchmark`. Copy this file, test.cc and benchmark.cc into a package of the workspace (here
//third_party/tfc) with a target `tfcompile` that runs the program: a py_binary of tfc's entry point,
or an sh_binary that calls the one of a virtual environment.
"""

def tf_library(
        name,
        graph,
        cpp_class,
        config = None,
        debug_info = None,
        gen_test = True,
        gen_benchmark = True,
        tfcompile_flags = "",
        tfcompile_tool = "//third_party/tfc:tfcompile",
        sources = "//third_party/tfc",
        enable_xla_hlo_profiling = False,
        visibility = None,
        testonly = None,
        tags = None,
        deps = None,
        enable_tracemes = False,
        include_standard_runtime_deps = True,
        mlir_components = "None"):
    """A cc_library of a graph, a test that runs it and a program that measures it.

    The arguments are those of TensorFlow's macro. tfcompile_flags is text or a list; deps are further
    ones of the library, such as what custom calls are in; the three last ones have no effect.
    """
    header = name + ".h"
    object = name + "_tfc.o"
    flags = "--graph $(location %s) --cpp_class %s" % (graph, cpp_class)
    if config:
        flags += " --config $(location %s)" % config
    if debug_info:
        flags += " --debug_info $(location %s)" % debug_info
    if enable_xla_hlo_profiling:
        flags += " --xla_hlo_profile"
    if type(tfcompile_flags) == type([]):
        tfcompile_flags = " ".join(tfcompile_flags)
    native.genrule(
        name = name + "_tfcompile",
        srcs = [file for file in [graph, config, debug_info] if file],
        outs = [header, object],
        cmd = "$(location %s) %s --out_header $(location %s) --out_function_object $(location %s) %s" %
              (tfcompile_tool, flags, header, object, tfcompile_flags),
        tools = [tfcompile_tool],
        testonly = testonly,
        tags = tags,
    )
    native.cc_library(
        name = name,
        srcs = [object],
        hdrs = [header],
        linkopts = ["-lm"],
        deps = deps,
        visibility = visibility,
        testonly = testonly,
        tags = tags,
    )
    defines = ["TFC_HEADER='\"%s/%s\"'" % (native.package_name(), header), "TFC_CLASS=" + cpp_class]
    if gen_test:
        native.cc_test(
            name = name + "_test",
            srcs = [sources + ":test.cc"],
            local_defines = defines,
            deps = [":" + name],
            tags = tags,
        )
    if gen_benchmark:
        native.cc_binary(
            name = name + "_benchmark",
            srcs = [sources + ":benchmark.cc"],
            local_defines = defines,
            deps = [":" + name],
            testonly = testonly,
            tags = tags,
        )
