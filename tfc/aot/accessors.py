"""The methods of a generated class for each argument, result and variable.

set_arg0_data, arg0_data, arg0(i, j), arg0_size, arg0_count      and the same as arg_x
"""

from string import Template

from tfc.aot.elements import cpp_type, position, remark
from tfc.aot.signature import Leaf, Signature

_ARRAY = """\
$writable  const $type* ${name}_data() const {
    return static_cast<const $type*>(${array}_[$number]);
  }
  const $type& $name($parameters) const {
    return ${name}_data()[$position];
  }
  static constexpr std::size_t ${name}_size() { return $size; }
  static constexpr std::size_t ${name}_count() { return $count; }
"""

_WRITABLE = Template("""\
  $type* ${name}_data() { return static_cast<$type*>(${array}_[$number]); }
  $type& $name($parameters) {
    return ${name}_data()[$position];
  }
""")

_RESULT = Template("\n  // Result $number$label: $shape$where\n" + _ARRAY)

_ARGUMENT = Template(
    """
  // Argument $number, $label: $shape$where
  void set_${name}_data($given data) { args_[$number] = $passed; }
"""
    + _ARRAY
)

_VARIABLE = Template(
    """
  // Variable $label, argument $number: $shape$where
  void set_${name}_data($given data) { args_[$number] = $passed; }
"""
    + _ARRAY
)

_INITIAL = Template("""\
  // What it holds at first.
  static const $type* ${name}_initial() {
    return reinterpret_cast<const $type*>(::$array + $at);
  }
""")

_SETTER = Template("  void set_${twin}_data($given data) { set_${name}_data(data); }\n")

_TWIN = Template("""
$setter$writable_twin  const $type* ${twin}_data() const { return ${name}_data(); }
  const $type& $twin($parameters) const {
    return $name($indices);
  }
  static constexpr std::size_t ${twin}_size() { return ${name}_size(); }
  static constexpr std::size_t ${twin}_count() { return ${name}_count(); }
""")

_WRITABLE_TWIN = Template("""\
  $type* ${twin}_data() { return ${name}_data(); }
  $type& $twin($parameters) {
    return $name($indices);
  }
""")


def argument_methods(signature: Signature) -> str:
    """The methods of each argument that is no variable: by number, then by name if it has one."""
    texts = []
    for number, leaf in enumerate(signature.fed):
        is_written = number in signature.donated
        where = "\n  // Run() writes over it." if is_written else ""
        terms = {**_terms("arg", number, leaf), **_passing(leaf, is_written)}
        texts.append(_ARGUMENT.substitute(terms, label=leaf.name, where=where))
        if leaf.called:
            texts.append(_twin(terms, f"arg_{leaf.called}", _SETTER))
    return "".join(texts)


def result_methods(signature: Signature) -> str:
    """The methods of each result that is no variable."""
    texts = []
    for number, leaf in enumerate(signature.fetched):
        argument = dict(signature.aliases).get(number)
        where = "" if argument is None else (
            f"\n  // Run() writes it over argument {argument}, in that one's buffer."
        )  # fmt: skip
        label = f", {leaf.called}" if leaf.called else ""
        terms = _terms("result", number, leaf)
        texts.append(_RESULT.substitute(terms, label=label, where=where))
        if leaf.called:
            texts.append(_twin(terms, f"result_{leaf.called}", None))
    return "".join(texts)


def variable_methods(signature: Signature) -> str:
    """The methods of each variable; one that is only read gives no way to write it."""
    texts = []
    for variable in signature.variables:
        leaf = signature.arguments[variable.argument]
        is_written = variable.result is not None
        terms = {**_terms("arg", variable.argument, leaf), **_passing(leaf, is_written)}
        terms["name"] = name = f"var_{leaf.called}"
        terms["writable"] = ""
        if is_written:
            terms["writable"] = _WRITABLE.substitute({**terms, "name": name})
        where = "" if is_written else "\n  // Run() reads it and writes it never."
        texts.append(_VARIABLE.substitute(terms, label=variable.name, where=where))
        at = signature.initial_places.get(variable.argument)
        if at is not None:
            texts.append(_INITIAL.substitute(terms, array=signature.initial_name, at=at))
    return "".join(texts)


def _twin(terms: dict[str, object], twin: str, setter: Template | None) -> str:
    return _TWIN.substitute(
        terms,
        twin=twin,
        setter="" if setter is None else setter.substitute(terms, twin=twin),
        writable_twin=_WRITABLE_TWIN.substitute(terms, twin=twin),
    )


def _passing(leaf: Leaf, is_written: bool) -> dict[str, object]:
    """How a buffer is given: as constant where Run() does not write it."""
    element = cpp_type(leaf.shape.element_type)
    if is_written:
        return {"given": f"{element}*", "passed": "data"}
    return {"given": f"const {element}*", "passed": f"const_cast<{element}*>(data)"}


def _terms(kind: str, number: int, leaf: Leaf) -> dict[str, object]:
    """What the templates of an array's methods need."""
    shape, indices = leaf.shape, [f"dim{d}" for d in range(leaf.shape.rank)]
    terms: dict[str, object] = {
        "name": f"{kind}{number}",
        "number": number,
        "shape": shape.without_layout() + remark(shape.element_type),
        "type": cpp_type(shape.element_type),
        "array": f"{kind}s",
        "parameters": ", ".join(f"std::size_t {index}" for index in indices),
        "indices": ", ".join(indices),
        "position": position(shape.dims),
        "size": shape.byte_size,
        "count": shape.size,
    }
    return {**terms, "writable": _WRITABLE.substitute(terms)}
