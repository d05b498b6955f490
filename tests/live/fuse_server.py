# SPDX-License-Identifier: MIT
"""fuse_server.py FOLDER FILE COMM [DEVICE]: mounts a FUSE file system at FOLDER that holds FILE alone.

It serves everyone but processes whose names begin with COMM: their requests are never answered, and each is told on
standard output as "hung OPCODE NAME", with a name also the parent's pid. "ready" comes before. Ends, and lets go who hangs, when killed.

Speaks the kernel's protocol itself (linux/fuse.h): the structures are those of version 7.31.
"""
import ctypes
import errno
import os
import re
import stat
import struct
import sys

ROOT, FILE = 1, 2
LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, INIT, OPENDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = (
    1, 2, 3, 14, 15, 18, 26, 27, 29, 36, 42)
WITHOUT_ANSWER = (FORGET, INTERRUPT, BATCH_FORGET)
IN_HEADER = struct.Struct("<IIQQIIIHH")
OUT_HEADER = struct.Struct("<IiQ")
ATTR = struct.Struct("<QQQQQQIIIIIIIIII")
KEEP_CACHE = 2  # FOPEN_KEEP_CACHE: a program goes on running from pages that were read
DIRECT_IO = 1  # FOPEN_DIRECT_IO: for who opens it with O_DIRECT
BUFFER = 1 << 17


def attributes(node, size):
    """Valid for no time at all, so that whoever looks has to ask."""
    mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o755
    return ATTR.pack(node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def comm_of_process(tid):
    """Its name, and its parent's pid; "" and "": it is gone."""
    try:
        with open(f"/proc/{tid}/status", encoding="utf-8", errors="replace") as f:
            status = f.read()
        group, parent = (re.search(rf"{what}:\s*(\d+)", status)[1] for what in ("Tgid", "PPid"))
        with open(f"/proc/{group}/comm", encoding="utf-8", errors="replace") as f:
            return f.read().strip(), parent
    except OSError:
        return "", ""


class Server:
    def __init__(self, folder, path, comm, device="/dev/fuse"):
        self.name, self.comm = os.path.basename(path).encode(), comm
        with open(path, "rb") as f:
            self.data = f.read()
        self.fd = os.open(device, os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"hostile", folder.encode(), b"fuse", 0, options.encode()) < 0:
            sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")

    def answer(self, opcode, node, body):
        """(errno, bytes)"""
        if opcode == INIT:
            readahead = struct.unpack_from("<III", body)[2]
            return 0, struct.pack("<IIIIHHIIHHI7I", 7, 31, readahead, 0, 0, 0, 4096, 1, 0, 0, 0,
                                  *[0] * 7)
        if opcode == LOOKUP:
            if node != ROOT or body.rstrip(b"\0") != self.name:
                return errno.ENOENT, b""
            return 0, struct.pack("<QQQQII", FILE, 0, 0, 0, 0, 0) + attributes(FILE, len(self.data))
        if opcode == GETATTR:
            return 0, struct.pack("<QII", 0, 0, 0) + attributes(
                node, len(self.data) if node == FILE else 0)
        if opcode in (OPEN, OPENDIR):
            direct = DIRECT_IO if struct.unpack_from("<I", body)[0] & os.O_DIRECT else 0
            return 0, struct.pack("<QIi", 0, KEEP_CACHE | direct, 0)
        if opcode == READ and node == FILE:
            _, offset, size = struct.unpack_from("<QQI", body)
            return 0, self.data[offset:offset + size]
        if opcode in (RELEASE, RELEASEDIR):
            return 0, b""
        return errno.ENOSYS, b""

    def serve(self):
        while True:
            try:
                message = os.read(self.fd, BUFFER)
            except OSError as e:
                if e.errno in (errno.ENOENT, errno.EINTR):  # taken back by who asked
                    continue
                return  # ENODEV: unmounted
            _, opcode, unique, node, _, _, tid, _, _ = IN_HEADER.unpack_from(message)
            if opcode in WITHOUT_ANSWER:
                continue
            comm, parent = ("", "") if opcode in (INIT, RELEASE) else comm_of_process(tid)
            if comm.startswith(self.comm):
                print("hung", opcode, *([comm, parent] if comm else [""]), flush=True)
                continue
            error, out = self.answer(opcode, node, message[IN_HEADER.size:])
            try:
                os.write(self.fd, OUT_HEADER.pack(OUT_HEADER.size + len(out), -error, unique) + out)
            except OSError:
                pass  # it was interrupted, or everything was


if __name__ == "__main__":
    server = Server(*sys.argv[1:])
    print("ready", flush=True)
    server.serve()
