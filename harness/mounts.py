"""Which kind of file system a folder lies on, as Linux tells; a kind that is shared over a network is a line in `NETWORK`."""

from __future__ import annotations

import re
from pathlib import Path, PurePath, PurePosixPath

MOUNTS = Path("/proc/self/mountinfo")
ESCAPE = re.compile(r"\\([0-7]{3})")  # how the kernel writes blanks and backslashes in a path
NETWORK = {
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "coda", "9p", "virtiofs", "ceph", "lustre", "gpfs", "beegfs"),
    *("pvfs2", "orangefs", "gfs2", "ocfs2", "panfs", "wekafs", "vboxsf", "vmhgfs", "prl_fs"),
}
USER_SPACE = "fuse"  # sshfs, s3fs, rclone and hundreds more: another machine's until known to be this one's
OF_THIS_MACHINE = {"fuseblk", "fuse.fuse-overlayfs", "fuse.mergerfs", "fuse.gocryptfs", "fuse.encfs", "fuse.bindfs", "fuse.ext4"}


def network_file_system(folder: Path) -> str | None:
    """The network file system that a folder lies on, or will once it is made; None for a disk of this machine.

    Where there is no /proc, only Windows' shares are known by their names.
    """
    try:
        resolved = folder.resolve()
        mounts = MOUNTS.read_text("utf-8", "surrogateescape")
    except (OSError, RuntimeError):
        return share(folder)
    kind = file_system(mounts, PurePosixPath(resolved))
    return kind if kind is not None and is_network(kind) else None


def share(folder: PurePath) -> str | None:
    """`share` for a path that names another machine, such as \\\\server\\folder; None for others."""
    return "share" if folder.drive.startswith("\\\\") else None


def is_network(kind: str) -> bool:
    """Whether a kind of file system may be another machine's."""
    return kind in NETWORK or (kind.startswith(USER_SPACE) and kind not in OF_THIS_MACHINE)


def file_system(mounts: str, path: PurePosixPath) -> str | None:
    """The kind of file system of an absolute path, by the text of a `mountinfo` file; None when no line covers it."""
    found, depth = None, 0
    for line in mounts.splitlines():
        left, dash, right = line.partition(" - ")
        fields, kinds = left.split(" "), right.split(" ")
        if not dash or len(fields) < 5 or not kinds[0]:
            continue
        point = PurePosixPath(ESCAPE.sub(lambda m: chr(int(m[1], 8)), fields[4]))
        # Of two on one folder the later hides the earlier.
        if len(point.parts) >= depth and path.is_relative_to(point):
            found, depth = kinds[0], len(point.parts)
    return found
