/* The kernels as a module of Python: arguments are checked, and the lock is released meanwhile.

   Only the stable interface of Python 3.11 and newer is used, and what is used of it is declared
   here: so one library serves all of these versions, and no headers are needed to compile it. */

#include "entry.h"

#ifdef WITH_AVX
#include <cpuid.h>
#endif

#if defined(_WIN32)
#define IMPORTED __declspec(dllimport)
#define EXPORTED __declspec(dllexport)
#else
#define IMPORTED
#define EXPORTED __attribute__((visibility("default")))
#endif

typedef struct PyObject PyObject;
typedef ptrdiff_t Py_ssize_t;

typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;

typedef PyObject *(*Function)(PyObject *self, PyObject *const *arguments, Py_ssize_t count);
typedef struct { const char *name; Function function; int flags; const char *doc; } PyMethodDef;
typedef struct {
    struct { Py_ssize_t references; void *type; void *init; Py_ssize_t index; void *copy; } base;
    const char *name, *doc;
    Py_ssize_t size;
    PyMethodDef *methods;
    void *slots, *traverse, *clear, *release;
} PyModuleDef;

enum { WRITABLE = 0x1, FORMAT = 0x4, C_CONTIGUOUS = 0x38, FASTCALL = 0x80 };

IMPORTED extern PyObject *PyExc_TypeError;
IMPORTED PyObject *PyModule_Create2(PyModuleDef *definition, int version);
IMPORTED int PyModule_AddStringConstant(PyObject *module, const char *name, const char *value);
IMPORTED int PyObject_GetBuffer(PyObject *object, Py_buffer *view, int flags);
IMPORTED void PyBuffer_Release(Py_buffer *view);
IMPORTED double PyFloat_AsDouble(PyObject *object);
IMPORTED long long PyLong_AsLongLong(PyObject *object);
IMPORTED int PyObject_IsTrue(PyObject *object);
IMPORTED PyObject *PyFloat_FromDouble(double value);
IMPORTED PyObject *PyLong_FromLongLong(long long value);
IMPORTED PyObject *PyBool_FromLong(long value);
IMPORTED PyObject *PyTuple_New(Py_ssize_t size);
IMPORTED Py_ssize_t PyTuple_Size(PyObject *tuple);
IMPORTED PyObject *PyTuple_GetItem(PyObject *tuple, Py_ssize_t place);
IMPORTED int PyTuple_SetItem(PyObject *tuple, Py_ssize_t place, PyObject *item);
IMPORTED PyObject *Py_BuildValue(const char *format, ...);
IMPORTED PyObject *PyErr_Occurred(void);
IMPORTED void PyErr_Clear(void);
IMPORTED PyObject *PyErr_NoMemory(void);
IMPORTED PyObject *PyErr_Format(PyObject *exception, const char *format, ...);
IMPORTED void *PyEval_SaveThread(void);
IMPORTED void PyEval_RestoreThread(void *state);

#define COUNT_ONE(number, name) +1
enum { COUNT = 0 KERNELS(COUNT_ONE) };

extern const Entry kernel_entries_baseline[];
#ifdef WITH_AVX
extern const Entry kernel_entries_avx2[];
extern const Entry kernel_entries_avx512[]; /* of the kernels that most time is spent in alone */
#endif
static const Entry *chosen[COUNT];

static const char *name_of(char letter) {
    switch (letter) {
    case 'd': return "float64";
    case 'f': return "float32";
    case 'q': return "int64";
    case '?': return "bool";
    }
    return "?";
}

static bool is_item(char letter, const Py_buffer *view) {
    char given = view->format == NULL ? 'B' : view->format[0];
    if (letter == 'q') return (given == 'l' || given == 'q') && view->itemsize == 8;
    return given == letter && (view->format == NULL || view->format[1] == 0);
}

/* Read one argument, or member of a bundle, as slot k; false with an exception set. */
static bool read_slot(const Entry *entry, int k, PyObject *given, Slot *slot, Py_buffer *view) {
    char letter = entry->signature->types[2 * k];
    int ndim = entry->signature->types[2 * k + 1] - '0';
    bool failed;
    if (ndim > 0) {
        int flags = C_CONTIGUOUS | FORMAT | (entry->writes[k] == '1' ? WRITABLE : 0);
        if (PyObject_GetBuffer(given, view, flags) != 0) {
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError, "%s: %s must be a C-contiguous%s array of %s", entry->name,
                         entry->parameters[k], entry->writes[k] == '1' ? ", writable" : "",
                         name_of(letter));
            return false;
        }
        if (view->ndim != ndim) {
            PyErr_Format(PyExc_TypeError, "%s: %s must have %d dimensions, got %d", entry->name,
                         entry->parameters[k], ndim, view->ndim);
            return false;
        }
        slot->array.p = view->buf;
        for (int axis = 0; axis < ndim; axis++) slot->array.n[axis] = view->shape[axis];
        return true;
    }
    if (letter == 'd') {
        slot->number = PyFloat_AsDouble(given);
        failed = slot->number == -1.0 && PyErr_Occurred() != NULL;
    } else if (letter == 'q') {
        slot->integer = PyLong_AsLongLong(given);
        failed = slot->integer == -1 && PyErr_Occurred() != NULL;
    } else {
        slot->integer = PyObject_IsTrue(given);
        failed = slot->integer < 0;
    }
    return !failed;
}

static bool read_slots(const Entry *entry, PyObject *const *given, Slot *slots, Py_buffer *views) {
    int k = 0;
    for (int a = 0; a < entry->arguments; a++) {
        int members = entry->members[a];
        if (members == 0) {
            if (!read_slot(entry, k, given[a], &slots[k], &views[k])) return false;
            k++;
            continue;
        }
        if (PyTuple_Size(given[a]) != members) {
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError, "%s: argument %d must be a bundle of %d", entry->name,
                         a + 1, members);
            return false;
        }
        for (int m = 0; m < members; m++, k++)
            if (!read_slot(entry, k, PyTuple_GetItem(given[a], m), &slots[k], &views[k]))
                return false;
    }
    return true;
}

static const Signature *find_signature(const Entry *entry, const Py_buffer *views) {
    for (int s = 0; s < entry->signatures; s++) {
        const char *types = entry->signature[s].types;
        int k = 0;
        while (k < entry->slots && (types[2 * k + 1] == '0' || is_item(types[2 * k], &views[k]))) k++;
        if (k == entry->slots) return &entry->signature[s];
    }
    for (int k = 0; k < entry->slots; k++) {
        char letter = entry->signature->types[2 * k];
        if (entry->signature->types[2 * k + 1] != '0' && !is_item(letter, &views[k])) {
            PyErr_Format(PyExc_TypeError, "%s: %s must be an array of %s, got the format '%s'",
                         entry->name, entry->parameters[k], name_of(letter), views[k].format);
            break;
        }
    }
    return NULL;
}

/* In a function of its own, because what it has may be lost where memory runs out. */
static bool run_guarded(const Signature *signature, Arena *arena, const Slot *slots, Slot *results) {
    jmp_buf exhausted;
    arena->exhausted = &exhausted;
    if (setjmp(exhausted) != 0) return false;
    signature->run(arena, slots, results);
    return true;
}

static PyObject *number_of(char letter, const Slot *result) {
    if (letter == 'd') return PyFloat_FromDouble(result->number);
    if (letter == '?') return PyBool_FromLong((long)result->integer);
    return PyLong_FromLongLong(result->integer);
}

static PyObject *results_of(const char *letters, const Slot *results) {
    size_t count = strlen(letters);
    if (count == 0) return Py_BuildValue("");
    if (count == 1) return number_of(letters[0], results);
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t k = 0; tuple != NULL && k < count; k++)
        PyTuple_SetItem(tuple, (Py_ssize_t)k, number_of(letters[k], &results[k]));
    return tuple;
}

static PyObject *call(int number, PyObject *const *given, Py_ssize_t count) {
    const Entry *entry = chosen[number];
    Slot slots[SLOTS], results[8];
    Py_buffer views[SLOTS];
    PyObject *answer = NULL;
    if (count != entry->arguments)
        return PyErr_Format(PyExc_TypeError, "%s takes %d arguments, got %zd", entry->name,
                            entry->arguments, count);
    for (int k = 0; k < entry->slots; k++) views[k].obj = NULL;
    if (read_slots(entry, given, slots, views)) {
        const Signature *signature = find_signature(entry, views);
        if (signature != NULL) {
            Arena arena = {NULL, NULL};
            void *state = PyEval_SaveThread();
            bool done = run_guarded(signature, &arena, slots, results);
            release(&arena);
            PyEval_RestoreThread(state);
            answer = done ? results_of(signature->returns, results) : PyErr_NoMemory();
        }
    }
    for (int k = 0; k < entry->slots; k++)
        if (views[k].obj != NULL) PyBuffer_Release(&views[k]);
    return answer;
}

#define FUNCTION(number) \
    static PyObject *call_##number(PyObject *self, PyObject *const *given, Py_ssize_t count) { \
        (void)self; \
        return call(number, given, count); \
    }
#define METHOD(number, name) {name, call_##number, FASTCALL, NULL},
#define EACH(number, name) FUNCTION(number)
KERNELS(EACH)
static PyMethodDef methods[] = {KERNELS(METHOD){NULL, NULL, 0, NULL}};

static PyModuleDef definition = {
    {1, NULL, NULL, 0, NULL}, "_native", "Kernels, compiled.", -1, methods, NULL, NULL, NULL, NULL,
};

/* Take the entries of a table, which ends with no name, in place of those of the same names. */
static void choose(const Entry *table) {
    for (; table->name != NULL; table++)
        for (int k = 0; k < COUNT; k++)
            if (strcmp(table->name, kernel_entries_baseline[k].name) == 0) chosen[k] = table;
}

#ifdef WITH_AVX
/* How wide the vectors of processor and system are: 1 with AVX2 and FMA, 2 with AVX-512 besides.
   Asked here, as compilers' own ways to ask differ in what they need when a library is linked.
   Processors before those with VBMI2 slow down where vectors are that wide. */
static int vector_level(void) {
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    if (!(c & bit_FMA) || !(c & bit_AVX) || !(c & bit_OSXSAVE)) return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 0x06) != 0x06) return 0; /* the system keeps the wide registers */
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2)) return 0;
    unsigned wide = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | (unsigned)bit_AVX512VL;
    return (low & 0xe6) == 0xe6 && (b & wide) == wide && (c & bit_AVX512VBMI2) ? 2 : 1;
}
#endif

EXPORTED PyObject *PyInit__native(void);
EXPORTED PyObject *PyInit__native(void) {
    const char *built = "baseline";
    choose(kernel_entries_baseline);
#ifdef WITH_AVX
    const char *most = getenv("SYNOVIA_PROCESSOR");
    int level = vector_level();
    if (most != NULL && strcmp(most, "baseline") == 0) level = 0;
    if (most != NULL && strcmp(most, "avx2") == 0 && level > 1) level = 1;
    if (level > 0) {
        choose(kernel_entries_avx2);
        built = "avx2";
    }
    if (level > 1) {
        choose(kernel_entries_avx512);
        built = "avx512";
    }
#endif
    PyObject *module = PyModule_Create2(&definition, 3);
    if (module != NULL) {
        PyModule_AddStringConstant(module, "BUILD", built);
        PyModule_AddStringConstant(module, "SOURCE", SOURCE_HASH);
    }
    return module;
}
