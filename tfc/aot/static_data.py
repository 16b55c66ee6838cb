"""What a generated class says of itself: sizes, names, where a name is, the program's shape."""

from collections.abc import Sequence
from string import Template

from tfc.aot.signature import Leaf, Signature
from tfc.hlo.shape import Shape

_TEXT = Template("""\
  // The element type of an array as HLO names it, and its dimensions.
  struct ShapeData {
    const char* element_type;
    std::size_t rank;
    const std::int64_t* dimensions;
  };
  // The shapes of arguments and results, variables among them.
  struct ProgramShapeData {
    std::size_t num_parameters;
    const ShapeData* parameters;
    const char* const* parameter_names;
    std::size_t num_results;
    const ShapeData* results;
  };
  // What is known without an object. Names are empty where there are none.
  struct StaticDataTable {
    const char* class_name;
    const char* entry_point;
    std::size_t num_args;
    std::size_t num_results;
    std::size_t num_variables;
    const std::size_t* arg_sizes;
    const std::size_t* result_sizes;
    const char* const* arg_names;
    const char* const* result_names;
    const char* const* variable_names;
    const ProgramShapeData* program_shape;  // null unless it was asked for
    std::int32_t (*raw_function)(void* const* args, void* const* results, void* arena);
  };
  static const StaticDataTable& StaticData() {
    static constexpr std::size_t arg_sizes[] = {$argument_sizes};
    static constexpr std::size_t result_sizes[] = {$result_sizes};
    static constexpr const char* arg_names[] = {$argument_names};
    static constexpr const char* result_names[] = {$result_names};
    static constexpr const char* variable_names[] = {$variable_names};$program_shape
    static constexpr StaticDataTable table = {
        "$class_name", "$entry", kNumArgs, kNumResults, kNumVariables, arg_sizes, result_sizes,
        arg_names, result_names, variable_names, $shape_pointer, $raw};
    return table;
  }

  // Bytes of one argument or result, and an argument's name; index < kNumArgs or kNumResults.
  static std::size_t ArgSize(std::size_t index) { return StaticData().arg_sizes[index]; }
  static std::size_t ResultSize(std::size_t index) { return StaticData().result_sizes[index]; }
  static const char* ArgName(std::size_t index) { return StaticData().arg_names[index]; }
  static std::size_t num_args() { return kNumArgs; }
  static std::size_t num_results() { return kNumResults; }
  static std::size_t num_variables() { return kNumVariables; }
  static std::size_t arg_size(std::size_t index) { return ArgSize(index); }
  static std::size_t result_size(std::size_t index) { return ResultSize(index); }

  // The shapes of the program; null unless the class was made with them (gen_program_shape).
  static const ProgramShapeData* ProgramShape() { return StaticData().program_shape; }

  // The index of the argument, variable or result of a name, or -1; always -1 unless the class was
  // made with such tables (gen_name_to_index). Names are any type that has c_str(), or text.
  static bool HasNameIndices() { return $has_names; }$lookups
""")

_LOOKUPS = Template("""
  static int LookupArgIndex(const char* name) {
    return IndexOf(name, StaticData().arg_names, $fed);
  }
  static int LookupVariableIndex(const char* name) {
    return IndexOf(name, StaticData().variable_names, kNumVariables);
  }
  static int LookupResultIndex(const char* name) {
    return IndexOf(name, StaticData().result_names, $fetched);
  }
  static const char* GetArgName(std::size_t index) { return StaticData().arg_names[index]; }
  static const char* GetVariableName(std::size_t index) {
    return StaticData().variable_names[index];
  }
  static const char* GetResultName(std::size_t index) { return StaticData().result_names[index]; }
""")

_NO_LOOKUPS = """
  static int LookupArgIndex(const char*) { return -1; }
  static int LookupVariableIndex(const char*) { return -1; }
  static int LookupResultIndex(const char*) { return -1; }
"""

_OF_STRINGS = """\
  template <class String>
  static auto LookupArgIndex(const String& name) -> decltype(LookupArgIndex(name.c_str())) {
    return LookupArgIndex(name.c_str());
  }
  template <class String>
  static auto LookupVariableIndex(const String& name)
      -> decltype(LookupVariableIndex(name.c_str())) {
    return LookupVariableIndex(name.c_str());
  }
  template <class String>
  static auto LookupResultIndex(const String& name) -> decltype(LookupResultIndex(name.c_str())) {
    return LookupResultIndex(name.c_str());
  }
"""

_INDEX_OF = """
  static int IndexOf(const char* name, const char* const* names, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (name[0] != '\\0' && std::strcmp(names[i], name) == 0) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }
"""


def static_data_terms(signature: Signature, has_raw: bool = True) -> dict[str, str]:
    """The tables of a class, and the search in them.

    Args:
        has_raw: whether there is a C function that takes arguments, results and temporaries.
    """
    lookups = _NO_LOOKUPS
    if signature.has_names:
        counts = {"fed": len(signature.fed), "fetched": len(signature.fetched)}
        lookups = _LOOKUPS.substitute(counts)
    text = _TEXT.substitute(
        class_name=str(signature.cpp_class),
        entry=signature.entry_point,
        raw=f"&::{signature.entry_point}" if has_raw else "nullptr",
        argument_sizes=_sizes(signature.arguments),
        result_sizes=_sizes(signature.results),
        argument_names=_names([leaf.name for leaf in signature.arguments]),
        result_names=_names([r.name if r.called else "" for r in signature.results]),
        variable_names=_names([variable.name for variable in signature.variables]),
        program_shape=_program_shape(signature) if signature.has_shape else "",
        shape_pointer="&shape" if signature.has_shape else "nullptr",
        has_names="true" if signature.has_names else "false",
        lookups=lookups + _OF_STRINGS,
    )
    return {"static_data": text, "index_of": _INDEX_OF if signature.has_names else ""}


def _sizes(found: Sequence[Leaf]) -> str:
    return ", ".join(str(leaf.shape.byte_size) for leaf in found) or "0"


def _names(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names) or '""'


def _program_shape(signature: Signature) -> str:
    """The shapes as tables; dimensions lie in one, one after the other."""
    both = [leaf.shape for leaf in (*signature.arguments, *signature.results)]
    places = [sum(shape.rank for shape in both[:n]) for n in range(len(both))]
    dims = ", ".join(str(d) for shape in both for d in shape.dims) or "0"
    shapes = [_shape(shape, at) for shape, at in zip(both, places)]
    first = len(signature.arguments)
    return f"""
    static constexpr std::int64_t dimensions[] = {{{dims}}};
    static constexpr ShapeData parameters[] = {{{_listed(shapes[:first])}}};
    static constexpr ShapeData result_shapes[] = {{{_listed(shapes[first:])}}};
    static constexpr ProgramShapeData shape = {{kNumArgs, parameters, arg_names, kNumResults,
                                               result_shapes}};"""


def _shape(shape: Shape, at: int) -> str:
    return f'{{"{shape.element_type}", {shape.rank}, dimensions + {at}}}'


def _listed(shapes: Sequence[str]) -> str:
    line = "\n        "
    return line + f",{line}".join(shapes or ['{"", 0, dimensions}'])
