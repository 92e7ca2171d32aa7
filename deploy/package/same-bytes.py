#!/usr/bin/env python3
"""Takes out of a program what depends on the folder that it was built in and on nothing else.

Swift's compiler keeps a hash of what it handed to LLVM in the section .swift_modhash, to pass over a file the next time. The hash takes in the name of the folder. Nothing reads it when
the program runs. The linker's build id is a hash of the program with it. The one becomes zeros, the other a hash of what is left.

One thing stays: two calls in which `withoutActuallyEscaping` hands on the path of its source. Swift 6.3 leaves the folder out of the path, but not out of its length. So folders whose paths are as long give the same program.
"""

import hashlib
import pathlib
import struct
import sys

# A note is its name's length, its content's, its type, the name "GNU" and the content.
NOTE_HEADER = 16


def sections(program):
    if program[:6] != b"\x7fELF\x02\x01":
        sys.exit("same-bytes: this is no 64-bit little-endian ELF file")
    (table,) = struct.unpack_from("<Q", program, 0x28)
    size, count, names = struct.unpack_from("<HHH", program, 0x3A)
    found = [struct.unpack_from("<IIQQQQ", program, table + index * size) for index in range(count)]
    start = found[names][4]
    return {bytes(program[start + name:program.index(0, start + name)]).decode(): (offset, length) for name, _, _, _, offset, length in found}


def main():
    path = pathlib.Path(sys.argv[1])
    program = bytearray(path.read_bytes())
    known = sections(program)
    if ".note.gnu.build-id" not in known:
        sys.exit(f"same-bytes: {path} has no build id")
    offset, length = known[".note.gnu.build-id"]
    places = [(offset + NOTE_HEADER, length - NOTE_HEADER), *([known[".swift_modhash"]] if ".swift_modhash" in known else [])]
    for start, count in places:
        program[start:start + count] = bytes(count)
    start, count = places[0]
    program[start:start + count] = hashlib.sha1(program).digest()[:count]
    path.write_bytes(program)


if __name__ == "__main__":
    main()
