"""Messages of errors that the operating system reports: full disks, missing permissions, lack of memory."""

import errno
import os

FREE_SPACE = "free space and run the same command again"
PERMISSION = (
    "choose another path, or get the permission for this one, and run the same command again"
)
ADVICE = {
    errno.ENOSPC: FREE_SPACE,
    errno.EDQUOT: FREE_SPACE,
    errno.EFBIG: "raise the limit of file sizes (ulimit -f) and run the same command again",
    errno.EACCES: PERMISSION,
    errno.EPERM: PERMISSION,
    errno.EROFS: PERMISSION,
    errno.EMFILE: "raise the limit of open files (ulimit -n) and run the same command again",
    errno.ENFILE: "close other programs and run the same command again",
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "check the path",
    errno.EISDIR: "choose the path of a file",
    errno.ENAMETOOLONG: "choose a shorter name",
}
"""What to do about an error, by its number."""


def message_of(error: OSError | MemoryError) -> str:
    """Return one line: the file, the error, and what to do.

    error: Error that no command expects.

    Examples
    --------
    >>> message_of(OSError(errno.ENOSPC, "No space left on device", "out/report.html"))
    'out/report.html: No space left on device; free space and run the same command again'
    """
    if isinstance(error, MemoryError):
        reason = str(error).splitlines()[0] if str(error) else "the machine refused to give more"
        return (
            f"out of memory: {reason}; stored work is kept: limit it with --memory, select fewer runs or metrics, or use a machine "
            "with more, and run the same command again"
        )
    if error.errno is None:
        return " ".join(str(error).split()) or type(error).__name__
    reason = (error.strerror or os.strerror(error.errno)).strip()
    named = isinstance(error.filename, str | bytes | os.PathLike)
    place = f"{os.fsdecode(error.filename)}: " if named else ""
    advice = ADVICE.get(error.errno, "run the same command again")
    return f"{place}{reason}; {advice}"
