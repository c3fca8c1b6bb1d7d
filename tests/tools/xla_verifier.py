"""Calls XLA's own verifier in jaxlib's library.

No function of jaxlib runs the verifier on a module as written. Compiling a module runs it, but only
after a conversion through StableHLO, which changes shapes. So this module looks up the verifier in
the symbol table of the library and calls it with ctypes. It works in a process that has imported
jaxlib, on Linux and x86-64, for the releases whose library has these symbols; for other releases,
the error message lists the missing symbols. Only `xla_oracle` uses it.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

__all__ = ["SWITCHES", "XlaVerifier"]

_CONSTRUCTOR = "_ZN3xla11HloVerifierC2EbbSt8functionIFbPKNS_14HloInstructionEEES1_IFlRKNS_5ShapeEEEb"
_RUN = (
    "_ZN3xla11HloVerifier7RunImplEPNS_9HloModuleERKN4absl12lts_2026010713flat_hash_setISt17basic_string_viewIcSt11char_traitsIcEENS4_18container_internal"
    "10StringHashENSA_8StringEqESaIS9_EEE"
)
_STATUS_TEXT = "_ZN4absl12lts_202601076Status12ToStringSlowB5cxx11EmNS0_18StatusToStringModeE"
# The default of the option shape_size is a std::function around a lambda: 16 empty bytes followed
# by these two functions.
_SIZE_MANAGER = (
    "_ZNSt14_Function_base13_Base_managerIN3xla15HloVerifierOpts10shape_sizeMUlRKNS1_5ShapeEE_EE10_M_managerERSt9_Any_dataRKS9_St18_Manager_operation"
)
_SIZE_INVOKER = "_ZNSt17_Function_handlerIFlRKN3xla5ShapeEENS0_15HloVerifierOpts10shape_sizeMUlS3_E_EE9_M_invokeERKSt9_Any_dataS3_"
# The option instruction_can_change_layout_func is empty by default; otherwise, it is a
# std::function around a pointer to this function.
_CHANGES_LAYOUT = "_ZN3xla16LayoutAssignment26InstructionCanChangeLayoutEPKNS_14HloInstructionE"
_PREDICATE_MANAGER = "_ZNSt14_Function_base13_Base_managerIPFbPKN3xla14HloInstructionEEE10_M_managerERSt9_Any_dataRKS8_St18_Manager_operation"
_PREDICATE_INVOKER = "_ZNSt17_Function_handlerIFbPKN3xla14HloInstructionEEPS4_E9_M_invokeERKSt9_Any_dataOS3_"
_NAMES = (_CONSTRUCTOR, _RUN, _STATUS_TEXT, _SIZE_MANAGER, _SIZE_INVOKER, _CHANGES_LAYOUT, _PREDICATE_MANAGER, _PREDICATE_INVOKER)

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOLS = 2
_OK = 1
# Large enough for the results of these functions: a verifier has 48 bytes, a std::string 32, a
# StatusOr<bool> 16.
_ROOM = 64

SWITCHES = {
    "layout_sensitive": 0, "allow_mixed_precision": 1, "broadcast_dimensions_sorted": 2, "reshape_is_bitcast": 3, "nested_thread_names": 4,
    "bitcast_may_differ_in_size": 6, "unbounded_dynamic": 7, "no_host_memory": 9, "collective_deadlocks": 10,
}  # fmt: skip
"""The switches of `hlotool.VerifyModes` that correspond to a byte in the verifier's options.

`layouts_kept` sets a function in the options instead.
"""
_FUNCTION_AT = 16


class XlaVerifier:
    """XLA's verifier in this process."""

    def __init__(self) -> None:
        import jaxlib

        library = Path(jaxlib.__file__).parent / "libjax_common.so"
        base = _base_of(library.name)
        found = {name: base + value for name, value in _symbols(library, _NAMES).items()}
        pointer, boolean = ctypes.c_void_p, ctypes.c_bool
        self._construct: Callable[..., Any] = ctypes.CFUNCTYPE(None, pointer, boolean, boolean, pointer, pointer, boolean)(found[_CONSTRUCTOR])
        self._run: Callable[..., Any] = ctypes.CFUNCTYPE(pointer, pointer, pointer, pointer, pointer)(found[_RUN])
        self._status_text: Callable[..., Any] = ctypes.CFUNCTYPE(pointer, pointer, ctypes.c_uint64, ctypes.c_int)(found[_STATUS_TEXT])
        self._shape_size = struct.pack("<QQQQ", 0, 0, found[_SIZE_MANAGER], found[_SIZE_INVOKER])
        self._changes_layout = struct.pack("<QQQQ", found[_CHANGES_LAYOUT], 0, found[_PREDICATE_MANAGER], found[_PREDICATE_INVOKER])
        self._verifiers: dict[tuple[str, ...], Any] = {}

    def complaint(self, module: Any, switches: Iterable[str] = ()) -> str:
        """Returns the verifier's complaint about a `jaxlib._hlo.HloModule`, or an empty string."""
        verifier = self._verifier(tuple(sorted(switches)))
        status, no_threads = ctypes.create_string_buffer(_ROOM), ctypes.create_string_buffer(_ROOM)
        self._run(status, verifier, _held_by(module), no_threads)
        code = struct.unpack_from("<Q", status)[0]
        if code == _OK:
            return ""
        text = ctypes.create_string_buffer(_ROOM)
        self._status_text(text, code, 1)
        at, length = struct.unpack_from("<QQ", text)
        return ctypes.string_at(at, length).decode(errors="replace")

    def _verifier(self, switches: tuple[str, ...]) -> Any:
        found = self._verifiers.get(switches)
        if found is None:
            found = ctypes.create_string_buffer(_ROOM)
            no_function, shape_size = ctypes.create_string_buffer(32), ctypes.create_string_buffer(self._shape_size, 32)
            self._construct(found, False, False, no_function, shape_size, False)
            # The second word points to an object with the options after its virtual table.
            options = struct.unpack_from("<Q", found, 8)[0] + 8
            for switch in switches:
                if switch == "layouts_kept":
                    ctypes.memmove(options + _FUNCTION_AT, self._changes_layout, len(self._changes_layout))
                else:
                    ctypes.memset(options + SWITCHES[switch], 1, 1)
            self._verifiers[switches] = found
        return found


def _held_by(wrapper: Any) -> int:
    """Returns the address of the C++ object in a nanobind object.

    The word after the header of the Python object is the offset of the C++ object.
    """
    at = id(wrapper)
    offset = struct.unpack("<i", ctypes.string_at(at + object.__basicsize__, 4))[0]
    return int(struct.unpack("<Q", ctypes.string_at(at + offset, 8))[0])


def _base_of(library: str) -> int:
    """Returns the address at which this process has loaded a library."""
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    return min(int(line.partition("-")[0], 16) for line in lines if line.endswith(library))


def _symbols(library: Path, names: Iterable[str]) -> dict[str, int]:
    """Returns the values of symbols, including local symbols, which loaders do not find."""
    import numpy as np

    layout = np.dtype([("name", "<u4"), ("info", "<u4"), ("value", "<u8"), ("size", "<u8")])
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start, size, number = (*struct.unpack_from("<Q", data, 0x28), *struct.unpack_from("<HH", data, 0x3A))
        sections = [_SECTION.unpack_from(data, start + k * size) for k in range(number)]
        tables = [section for section in sections if section[1] == _SYMBOLS]
        if not tables:
            raise LookupError(f"{library.name} has no symbol table")
        offset, length, strings = tables[0][4], tables[0][5], sections[tables[0][6]]
        table = np.frombuffer(data[offset : offset + length], layout)
        found = {}
        for name in names:
            at = data.find(b"\0" + name.encode() + b"\0", strings[4], strings[4] + strings[5])
            if at < 0:
                raise LookupError(f"{library.name} has no {name}")
            found[name] = int(table["value"][table["name"] == at + 1 - strings[4]][0])
        return found
