"""The part of the generated header that a C compiler sees: plain functions, in C99.

foo_bar_MatMulComp_object matmul;
if (foo_bar_MatMulComp_init(&matmul, 1)) { … foo_bar_MatMulComp_run(&matmul) … }
foo_bar_MatMulComp_free(&matmul);
"""

from string import Template

from tfc.aot.batches.methods import batch_in_c
from tfc.aot.elements import c_type, remark
from tfc.aot.placing import Placing
from tfc.aot.signature import ALIGNMENT, MINIMUM_ALIGNMENT, Leaf, Signature
from tfc.aot.weights import weights_in_c
from tfc.backends.interfaces import Constants

_TEXT = Template("""\
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int32_t $entry(void* const* args, void* const* results, void* $memory);
$cpu_prototype$prototypes
// The same as the class for C++, as functions. An object has its own buffers: one object must not
// be used by two threads at once.
#define ${prefix}_NUM_ARGS $num_args
#define ${prefix}_NUM_RESULTS $num_results
#define ${prefix}_NUM_VARIABLES $num_variables

typedef struct {
  void* args[$args_length];
  void* results[$results_length];
  void* arena;
  void* block;
  const char* error_msg;  // why the last run failed; empty if it did not$fields$further
} ${prefix}_object;
$struct
static inline size_t ${prefix}_arg_size(size_t i) {
  static const size_t sizes[] = {$argument_sizes};
  return sizes[i];
}
static inline size_t ${prefix}_result_size(size_t i) {
  static const size_t sizes[] = {$result_sizes};
  return sizes[i];
}

// Makes the buffers, those of arguments and variables only if asked for: the others are the
// caller's, to be put into args. Returns whether there was memory. Arguments are zero.
static inline bool ${prefix}_init(${prefix}_object* self, bool with_args) {
  static const ${prefix}_object empty;
  unsigned char* data;
  *self = empty;
  self->error_msg = "";$batch_start
  self->block = calloc((with_args ? (size_t)$block_bytes : (size_t)$own_bytes) + $padding, 1);
  if (self->block == NULL) {
    self->error_msg = "there are no buffers: memory ran out";
    return false;
  }
  data = (unsigned char*)self->block;
  data += ($alignment - (uintptr_t)data % $alignment) % $alignment;
  self->arena = data;$place_own
  if (with_args) {$place_args
  }
  return true;
}

static inline void ${prefix}_free(${prefix}_object* self) {
  free(self->block);$weights_release
  self->block = NULL;
}

static inline bool ${prefix}_is_usable(const void* data, size_t size) {
  const size_t alignment = size >= $minimum_alignment ? $minimum_alignment : size >= 16 ? 16 : 1;
  return size == 0 || (data != NULL && (uintptr_t)data % alignment == 0);
}

$batch$weights_functions
// Runs the computation: true if it succeeded; error_msg says why not.
static inline bool ${prefix}_run(${prefix}_object* self) {
  int32_t status;
  size_t i;$served
  if (self->block == NULL) {
    self->error_msg = "there are no buffers";
    return false;
  }$weights_check$alias_results
  for (i = 0; i < ${prefix}_NUM_ARGS; ++i) {
    if (!${prefix}_is_usable(self->args[i], ${prefix}_arg_size(i))) {
      self->error_msg = "an argument has no buffer, or one that is not aligned";
      return false;
    }
  }
  for (i = 0; i < ${prefix}_NUM_RESULTS; ++i) {
    if (!${prefix}_is_usable(self->results[i], ${prefix}_result_size(i))) {
      self->error_msg = "a result has no buffer, or one that is not aligned";
      return false;
    }
  }
  status = $call;
  self->error_msg = "";
  if (status != 0) {
    self->error_msg = $failure;
  }
  return status == 0;
}

// The processor whose version of the code runs here; empty where none does.
static inline const char* ${prefix}_cpu(void) { return $cpu; }
$accessors""")

_ACCESSOR = Template("""
// $what: $shape
static inline $type* ${prefix}_${name}_data(${prefix}_object* self) {
  return ($type*)self->$array[$number];
}
""")

_STRUCT = Template("""
typedef struct {
  void* arena;
  void (*parallel_for)(void (*)(void*, int64_t), void*, int64_t, void*);
  void* pool;
  void* clock;
  const void* constants;
  size_t program;
} ${prefix}_served;
""")

_SERVED = Template("""
  ${prefix}_served served;
  served.arena = self->arena;
  served.parallel_for = $parallel_for;
  served.pool = $pool;
  served.clock = NULL;
  served.constants = $constants;
  served.program = 0;""")

_FIELDS = """
  // Runs run(frame, part) for each part from 0 to parts - 1, in any threads, and returns when all
  // have returned; NULL for none. Threads share the work of a run by it.
  void (*parallel_for)(void (*run)(void* frame, int64_t part), void* frame, int64_t parts,
                       void* pool);
  void* pool;"""


def c_interface(signature: Signature, placing: Placing, failure: str) -> str:
    """What the header says to a C compiler.

    Args:
        failure: the expression that says why the entry point has failed.
    """
    is_shared = signature.threads > 1
    prefix = _prefix(signature)
    batch, weights = batch_in_c(signature, prefix), weights_in_c(signature, prefix)
    served = _SERVED.substitute(
        prefix=prefix,
        constants="self->weights.data" if signature.constants is Constants.GIVEN else "NULL",
        parallel_for="self->parallel_for" if is_shared else "NULL",
        pool="self->pool" if is_shared else "NULL",
    )
    own = [("results", n, at) for n, at in enumerate(placing.results) if at is not None]
    own += [("args", n, at) for n, at in placing.own.items()]
    given = [("args", n, at) for n, at in placing.arguments.items()]
    places, array = signature.initial_places, signature.initial_name
    initial = f"#include <string.h>\nextern const unsigned char {array}[];\n" if places else ""
    begun = "".join(
        f"\n    memcpy(self->args[{n}], {array} + {at}, {signature.arguments[n].shape.byte_size});"
        for n, at in places.items()
    )
    return _TEXT.substitute(
        entry=signature.entry_point,
        cpu_prototype=cpu_prototype(signature),
        cpu=cpu_expression(signature),
        prefix=prefix,
        memory="served" if signature.is_served else "arena",
        prototypes="".join(f"void {s}(void* out, void** in);\n" for s in signature.symbols)
        + initial,
        num_args=len(signature.arguments),
        num_results=len(signature.results),
        num_variables=len(signature.variables),
        args_length=max(1, len(signature.arguments)),
        results_length=max(1, len(signature.results)),
        argument_sizes=_sizes(signature.arguments),
        result_sizes=_sizes(signature.results),
        block_bytes=placing.block_bytes,
        own_bytes=placing.own_bytes,
        padding=ALIGNMENT - 1,
        alignment=ALIGNMENT,
        minimum_alignment=MINIMUM_ALIGNMENT,
        failure=failure,
        place_own="".join(f"\n  self->{a}[{n}] = data + {at};" for a, n, at in own),
        place_args="".join(f"\n    self->{a}[{n}] = data + {at};" for a, n, at in given) + begun,
        alias_results="".join(
            f"\n  self->results[{r}] = self->args[{a}];" for r, a in signature.aliases
        ),
        fields=_FIELDS if is_shared else "",
        served=served if signature.is_served else "",
        struct=_STRUCT.substitute(prefix=prefix) if signature.is_served else "",
        further=batch["batch_field"] + weights["weights_field"],
        **batch,
        **weights,
        accessors=_accessors(signature),
    )


def cpu_prototype(signature: Signature, linkage: str = "") -> str:
    """The declaration of the function of the object that says which version of it runs, if any."""
    return f"{linkage}const char* {signature.cpu_symbol}(void);\n" * signature.is_dispatched


def cpu_expression(signature: Signature) -> str:
    """The name of the processor whose version runs."""
    if signature.is_dispatched:
        return f"{signature.cpu_symbol}()"
    return f'"{signature.cpus[0] if signature.cpus else ""}"'


def _prefix(signature: Signature) -> str:
    return str(signature.cpp_class).replace("::", "_")


def _sizes(found: tuple[Leaf, ...]) -> str:
    return ", ".join(str(leaf.shape.byte_size) for leaf in found) or "0"


def _accessors(signature: Signature) -> str:
    """A function for each array, by its name if it has one, and else by its number."""
    found = []
    fed = len(signature.fed)
    for number, leaf in enumerate(signature.arguments):
        kind = "arg" if number < fed else "var"
        found.append(
            (f"{kind}_{leaf.called}" if leaf.called else f"arg{number}", "args", number, leaf)
        )
    for number, leaf in enumerate(signature.fetched):
        name = f"result_{leaf.called}" if leaf.called else f"result{number}"
        found.append((name, "results", number, leaf))
    return "".join(
        _ACCESSOR.substitute(
            prefix=_prefix(signature),
            name=name,
            array=array,
            number=number,
            what=name,
            type=c_type(leaf.shape.element_type),
            shape=leaf.shape.without_layout() + remark(leaf.shape.element_type),
        )
        for name, array, number, leaf in found
    )
