"""load_late.py: loads libdcsr.so into the interpreter and takes a matrix through its life. usage: load_late.py LIBRARY"""
import ctypes
import sys

dcsr = ctypes.CDLL(sys.argv[1])
dcsr.dcsr_type_name.restype = ctypes.c_char_p
FP64 = next(number for number in range(64) if dcsr.dcsr_type_name(number) == b"fp64")


def call(name, *arguments):
    status = getattr(dcsr, name)(*arguments)
    assert status == 0, f"{name}: status {status}"


context, matrix = ctypes.c_void_p(), ctypes.c_void_p()
call("dcsr_context_create", ctypes.byref(context), None)
call("dcsr_matrix_create", ctypes.byref(matrix), context, FP64, ctypes.c_uint64(1000), ctypes.c_uint64(1000), None)
n = 1000
rows = (ctypes.c_uint64 * n)(*range(n))
cols = (ctypes.c_uint64 * n)(*(n - 1 - i for i in range(n)))
values = (ctypes.c_double * n)(*(i / 2 for i in range(n)))
call("dcsr_matrix_insert", matrix, ctypes.c_uint64(n), rows, cols, values, None)
call("dcsr_matrix_wait", matrix)
value, stored = ctypes.c_double(), ctypes.c_bool()
for i in (0, 1, 500, n - 1):
    call("dcsr_matrix_get", matrix, ctypes.c_uint64(i), ctypes.c_uint64(n - 1 - i), ctypes.byref(value), ctypes.byref(stored))
    assert stored.value and value.value == i / 2, (i, stored.value, value.value)
call("dcsr_matrix_get", matrix, ctypes.c_uint64(3), ctypes.c_uint64(3), ctypes.byref(value), ctypes.byref(stored))
assert not stored.value
dcsr.dcsr_matrix_destroy(matrix)
dcsr.dcsr_context_destroy(context)
