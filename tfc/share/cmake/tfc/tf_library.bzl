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
        gen_test = True,
        gen_benchmark = True,
        tfcompile_flags = "",
        tfcompile_tool = "//third_party/tfc:tfcompile",
        sources = "//third_party/tfc",
        visibility = None,
        testonly = None,
        tags = None):
    """A cc_library of a graph, a test that runs it and a program that measures it."""
    header = name + ".h"
    object = name + "_tfc.o"
    flags = "--graph $(location %s) --cpp_class %s" % (graph, cpp_class)
    if config:
        flags += " --config $(location %s)" % config
    native.genrule(
        name = name + "_tfcompile",
        srcs = [graph] + ([config] if config else []),
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
