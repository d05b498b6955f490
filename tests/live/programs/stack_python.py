# SPDX-License-Identifier: MIT
"""stack_python LIBRARY: b_leaf < b_entry < libffi < ctypes < the interpreter < main."""
import ctypes
import sys

b_entry = ctypes.CDLL(sys.argv[1]).b_entry


def call():
    b_entry(100)


print("ready", flush=True)
while True:
    call()
