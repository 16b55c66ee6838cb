/* The Python entry of programs: a builtin function that calls them with arrays.

       entry(*arguments, **named) -> the nested result, or NotImplemented

   Each program's entry is this function with a table of its own (entry_table.py). It compares every
   argument with what the table wants: the very containers, arrays of NumPy's own class with the
   dtype and dimensions, row-major and aligned, Python's numbers where weak ones are wanted, NumPy's
   for scalars. Arguments by name come after the others in the table. If all is so it makes the
   results' arrays, calls the code and nests the results; if not, or if there is no memory, it does
   nothing and returns NotImplemented: the caller goes the long way, which converts and explains.

   Arrays are read as NumPy's headers have extensions read them: by the fields of its array
   structure, which its ABI fixes. The value of Python's floats and of NumPy's scalars follows the
   head of the object. Where that or Python itself is built in another way there is no entry. */

#include "runtime.h"

#include "blocks.h"

/* --- Python and NumPy ----------------------------------------------------------------------- */

typedef struct object {
    i64 references;
    struct object *type;
} object;

struct dtype {
    object head;
    object *scalar_type;
    i64 identity; /* its kind, type, byte order and number */
};

struct array {
    object head;
    void *data;
    i32 rank;
    i64 *dims, *strides;
    object *base;
    struct dtype *dtype;
    i32 flags;
};

enum { CONTIGUOUS = 0x1, ALIGNED = 0x100, WRITEABLE = 0x400 };

struct method {
    const char *name;
    object *(*function)(object *self, object **arguments, i64 count, object *names);
    i32 convention;
    const char *documentation;
};

enum { METH_KEYWORDS = 0x2, METH_FASTCALL = 0x80 };

extern object PyArray_Type, PyBool_Type, PyFloat_Type, PyLong_Type;
extern object _Py_NotImplementedStruct, _Py_TrueStruct;

object *PyArray_NewFromDescr(object *type, struct dtype *dtype, i32 rank, i64 *dims, i64 *strides,
                             void *data, i32 flags, object *like);
i32 PyArray_SetBaseObject(object *array, object *base);
void *PyCapsule_GetContext(object *capsule);
void *PyCapsule_GetPointer(object *capsule, const char *name);
object *PyCapsule_New(void *pointer, const char *name, void (*release)(object *));
i32 PyCapsule_SetContext(object *capsule, void *context);
object *PyDict_GetItemWithError(object *dict, object *key);
object *PyDict_New(void);
i32 PyDict_SetItem(object *dict, object *key, object *value);
i64 PyDict_Size(object *dict);
void PyErr_Clear(void);
object *PyErr_NoMemory(void);
void PyEval_RestoreThread(void *thread);
void *PyEval_SaveThread(void);
i64 PyLong_AsLongLongAndOverflow(object *integer, i32 *overflow);
object *PyList_GetItem(object *list, i64 place);
object *PyList_New(i64 size);
i32 PyList_SetItem(object *list, i64 place, object *value);
i64 PyList_Size(object *list);
object *PyObject_CallObject(object *called, object *arguments);
object *PyTuple_GetItem(object *tuple, i64 place);
object *PyTuple_New(i64 size);
i32 PyTuple_SetItem(object *tuple, i64 place, object *value);
i64 PyTuple_Size(object *tuple);
void Py_DecRef(object *);
void Py_IncRef(object *);

/* --- Tables, which entry_table.py fills in -------------------------------------------------- */

/* A container of arguments or results, or what lies in it. */
struct node {
    i64 kind;       /* LEAF, FIXED, TUPLE, LIST, DICT or NAMED */
    i64 count;      /* of its children */
    object *object; /* FIXED: the very object; else the container's type */
    object **keys;  /* of a DICT */
    struct node *children;
};

/* An array or a number that is taken. */
struct argument {
    i64 identity; /* of its dtype */
    i64 rank;
    i64 *dims;
    i64 number;          /* STRONG, or what Python number: FLOAT, INTEGER, BOOLEAN or ANOTHER */
    object *scalar_type; /* NumPy's, if one of its scalars will do; else null */
};

/* An array that is made. */
struct result {
    struct dtype *dtype;
    i64 rank;
    i64 *dims;
    i64 block; /* the size of the block that it lies in; 0 if NumPy finds memory for it */
};

/* The memory for temporaries of one call at a time; both null until there is some: then all calls
   are declined. */
struct arena {
    void *idle; /* its address, null while a call uses it */
    void *address;
};

typedef i32 run_program(const void *program, const void *context, void **arguments, void **results,
                        void *arena);

struct entry {
    run_program *run;
    const void *program, *context;
    struct arena *arena;
    i64 arena_size;
    i64 argument_count; /* of those by name, too */
    i64 named_count;
    object **names; /* of the last arguments; each is the only string of its characters in use */
    struct node *argument_nodes;
    i64 leaf_count; /* of the arrays in the arguments */
    struct argument *leaves;
    i64 result_count;
    struct result *results;
    struct node *result_node;
    i64 is_long; /* whether other Python threads should run meanwhile */
};

_Static_assert(sizeof(struct node) == NODE_BYTES, "entry_table.py");
_Static_assert(sizeof(struct argument) == ARGUMENT_BYTES, "entry_table.py");
_Static_assert(sizeof(struct result) == RESULT_BYTES, "entry_table.py");
_Static_assert(sizeof(struct entry) == ENTRY_BYTES, "entry_table.py");

/* --- Arguments ------------------------------------------------------------------------------ */

/* The arrays and numbers that have been found in the arguments, with a reference to each.

   places: where their values are.
   integers: memory for the values of Python's integers and booleans. */
struct found {
    object **objects;
    void **places;
    i64 *integers;
    i64 count;
    const struct argument *wanted;
};

/* Where the value of a Python number of a kind is; null if it is another. */
static void *read_number(object *given, i64 kind, i64 *memory) {
    switch (kind) {
    case FLOAT: return given->type == &PyFloat_Type ? (void *)(given + 1) : 0;
    case BOOLEAN:
        *(u8 *)memory = given == &_Py_TrueStruct;
        return given->type == &PyBool_Type ? memory : 0;
    case INTEGER:
        if (given->type != &PyLong_Type)
            return 0;
        i32 overflow = 0;
        *memory = PyLong_AsLongLongAndOverflow(given, &overflow);
        return overflow == 0 ? memory : 0;
    }
    return 0;
}

/* Where the elements of an array are, which must be as wanted; null if it is not. */
static void *read_array(object *given, const struct argument *wanted) {
    const struct array *array = (struct array *)given;
    i32 both = CONTIGUOUS | ALIGNED;
    if (UNLIKELY(array->dtype->identity != wanted->identity || (array->flags & both) != both ||
                 array->rank != wanted->rank))
        return 0;
    for (i64 n = 0; n < wanted->rank; ++n) {
        if (UNLIKELY(array->dims[n] != wanted->dims[n]))
            return 0;
    }
    return array->data;
}

/* Take an array or a number, which must be the next that is wanted; 0 if it is not. */
static i32 read_leaf(object *given, struct found *found) {
    const struct argument *wanted = &found->wanted[found->count];
    void *place = 0;
    if (UNLIKELY(wanted->number != STRONG))
        place = read_number(given, wanted->number, &found->integers[found->count]);
    else if (LIKELY(given->type == &PyArray_Type))
        place = read_array(given, wanted);
    else if (given->type == wanted->scalar_type)
        place = (void *)(given + 1);
    if (UNLIKELY(place == 0))
        return 0;
    Py_IncRef(given);
    found->places[found->count] = place;
    found->objects[found->count++] = given;
    return 1;
}

static i64 size_of(i64 kind, object *container) {
    switch (kind) {
    case TUPLE: return PyTuple_Size(container);
    case LIST: return PyList_Size(container);
    default: return PyDict_Size(container);
    }
}

/* What lies at a place of a container, borrowed; null if there is nothing. */
static object *child_of(const struct node *node, object *container, i64 place) {
    switch (node->kind) {
    case TUPLE: return PyTuple_GetItem(container, place);
    case LIST: return PyList_GetItem(container, place);
    }
    object *child = PyDict_GetItemWithError(container, node->keys[place]);
    if (child == 0)
        PyErr_Clear();
    return child;
}

/* Take the arrays and numbers of an object, which must be as a node says; 0 if it is not. */
static i32 read(const struct node *node, object *given, struct found *found) {
    if (LIKELY(node->kind == LEAF))
        return read_leaf(given, found);
    if (node->kind == FIXED)
        return given == node->object;
    if (given->type != node->object || size_of(node->kind, given) != node->count)
        return 0;
    for (i64 place = 0; place < node->count; ++place) {
        object *child = child_of(node, given, place);
        if (child == 0)
            return 0;
        /* To look up a key may run any function, which may change the container. */
        Py_IncRef(child);
        i32 is_well = read(&node->children[place], child, found);
        Py_DecRef(child);
        if (!is_well)
            return 0;
    }
    return 1;
}

/* --- Results -------------------------------------------------------------------------------- */

static const char OWNER[] = "tfc.block";

/* Give back the block that an array lay in. */
static void release_block(object *owner) {
    give(PyCapsule_GetPointer(owner, OWNER), (i64)PyCapsule_GetContext(owner));
}

/* An array at an address, or, if that is null, where NumPy finds memory; null after an exception.
   It takes a reference to its dtype in any case. */
static object *array_at(const struct result *result, void *data, i32 flags) {
    Py_IncRef((object *)result->dtype);
    return PyArray_NewFromDescr(&PyArray_Type, result->dtype, (i32)result->rank, result->dims, 0,
                                data, flags, 0);
}

/* An array in a block of memory, without values; null after an exception. */
static object *array_in_block(const struct result *result) {
    void *block = take(result->block);
    if (UNLIKELY(block == 0))
        return PyErr_NoMemory();
    object *made = array_at(result, block, CONTIGUOUS | ALIGNED | WRITEABLE);
    if (UNLIKELY(made == 0)) {
        give(block, result->block);
        return 0;
    }
    object *owner = PyCapsule_New(block, OWNER, release_block);
    if (UNLIKELY(owner == 0)) {
        give(block, result->block);
        Py_DecRef(made);
        return 0;
    }
    PyCapsule_SetContext(owner, (void *)result->block);
    if (UNLIKELY(PyArray_SetBaseObject(made, owner) != 0)) { /* it takes the owner in any case */
        Py_DecRef(made);
        return 0;
    }
    return made;
}

/* An array without values; null after an exception. */
static object *new_array(const struct result *result) {
    return result->block != 0 ? array_in_block(result) : array_at(result, 0, 0);
}

static object *new_container(const struct node *node) {
    switch (node->kind) {
    case LIST: return PyList_New(node->count);
    case DICT: return PyDict_New();
    default: return PyTuple_New(node->count);
    }
}

/* Put a child, whose reference is taken, to a place of a container; not 0 after an exception. */
static i32 put_child(const struct node *node, object *container, i64 place, object *child) {
    switch (node->kind) {
    case LIST: return PyList_SetItem(container, place, child);
    default: return PyTuple_SetItem(container, place, child);
    case DICT:;
        i32 status = PyDict_SetItem(container, node->keys[place], child);
        Py_DecRef(child);
        return status;
    }
}

/* The nested result; null after an exception.

   next: of the leaves, of which those that are used are replaced by null. */
static object *build(const struct node *node, object ***next) {
    if (node->kind == LEAF) {
        object *leaf = **next;
        *(*next)++ = 0;
        return leaf;
    }
    if (node->kind == FIXED) {
        Py_IncRef(node->object);
        return node->object;
    }
    object *made = new_container(node);
    if (UNLIKELY(made == 0))
        return 0;
    for (i64 place = 0; place < node->count; ++place) {
        object *child = build(&node->children[place], next);
        if (UNLIKELY(child == 0 || put_child(node, made, place, child) != 0)) {
            Py_DecRef(made);
            return 0;
        }
    }
    if (node->kind != NAMED)
        return made;
    object *named = PyObject_CallObject(node->object, made);
    Py_DecRef(made);
    return named;
}

/* --- Calls ---------------------------------------------------------------------------------- */

static void release(object **objects, i64 count) {
    for (i64 n = 0; n < count; ++n)
        Py_DecRef(objects[n]); /* which may be null */
}

static object *decline(void) {
    Py_IncRef(&_Py_NotImplementedStruct);
    return &_Py_NotImplementedStruct;
}

/* Call the code; 0 if there is no memory for it. */
static i32 run(const struct entry *entry, void **arguments, void **results) {
    void *arena = entry->arena->idle;
    entry->arena->idle = 0;
    if (UNLIKELY(arena == 0)) { /* another call has it */
        arena = take(entry->arena_size);
        if (UNLIKELY(arena == 0))
            return 0;
    }
    if (entry->is_long) {
        void *thread = PyEval_SaveThread();
        entry->run(entry->program, entry->context, arguments, results, arena);
        PyEval_RestoreThread(thread);
    } else {
        entry->run(entry->program, entry->context, arguments, results, arena);
    }
    if (arena == entry->arena->address)
        entry->arena->idle = arena;
    else
        give(arena, entry->arena_size);
    return 1;
}

/* Make the arrays of the results; 0 if there is no memory for them. */
static i32 make_results(const struct entry *entry, object **results, void **places) {
    for (i64 n = 0; n < entry->result_count; ++n) {
        results[n] = new_array(&entry->results[n]);
        if (UNLIKELY(results[n] == 0)) {
            release(results, n);
            PyErr_Clear();
            return 0;
        }
        places[n] = ((struct array *)results[n])->data;
    }
    return 1;
}

/* The argument of that name, among as many arguments as names; null if there is none. */
static object *argument_named(object *wanted, object **arguments, object *names, i64 count) {
    for (i64 n = 0; n < count; ++n) {
        if (PyTuple_GetItem(names, n) == wanted)
            return arguments[n];
    }
    return 0;
}

/* Take all arguments, first those by place, of which there are count; 0 if one is not as wanted. */
static i32 read_all(const struct entry *entry, object **arguments, i64 count, object *names,
                    struct found *found) {
    i64 named = names == 0 ? 0 : PyTuple_Size(names);
    if (UNLIKELY(named != entry->named_count || count + named != entry->argument_count))
        return 0;
    for (i64 n = 0; n < entry->argument_count; ++n) {
        object *given = arguments[n];
        if (n >= count)
            given = argument_named(entry->names[n - count], arguments + count, names, named);
        if (UNLIKELY(given == 0 || !read(&entry->argument_nodes[n], given, found)))
            return 0;
    }
    return 1;
}

/* What Python calls; self is (an array whose data are a struct entry, …). */
static object *call(object *self, object **arguments, i64 count, object *names) {
    const struct entry *entry = ((struct array *)PyTuple_GetItem(self, 0))->data;
    if (UNLIKELY(entry->arena->address == 0))
        return decline();
    i64 most = entry->leaf_count;
    struct found found = {ON_STACK(object *, most), ON_STACK(void *, most), ON_STACK(i64, most), 0,
                          entry->leaves};
    if (UNLIKELY(!read_all(entry, arguments, count, names, &found))) {
        release(found.objects, found.count);
        return decline();
    }
    object **results = ON_STACK(object *, entry->result_count);
    void **places = ON_STACK(void *, entry->result_count);
    i32 is_well = make_results(entry, results, places);
    if (LIKELY(is_well)) {
        is_well = run(entry, found.places, places);
        if (UNLIKELY(!is_well))
            release(results, entry->result_count);
    }
    release(found.objects, entry->leaf_count);
    if (UNLIKELY(!is_well))
        return decline();
    object **next = results;
    object *made = build(entry->result_node, &next);
    release(results, entry->result_count); /* what is not part of the result */
    return made;
}

const struct method tfc_method = {"program", call, METH_FASTCALL | METH_KEYWORDS, 0};
