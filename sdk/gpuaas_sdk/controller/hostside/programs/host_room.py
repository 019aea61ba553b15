"""Says how much of a disk programs may still take. A part of each disk stays free for the host and its tenant."""

MOST_KEPT, KEPT_PART = 1 << 30, 20  # bytes that stay free, or a part of a smaller disk
MOST_FILES_KEPT = 100_000  # files that the disk must still have room for, or the same part


def free_bytes(disk):
    """Returns how many bytes are free. `disk` is what os.statvfs returns."""
    return disk.f_bavail * disk.f_frsize


def kept_bytes(disk):
    return min(MOST_KEPT, disk.f_blocks * disk.f_frsize // KEPT_PART)


def bytes_left(disk):
    """Returns how many bytes may still be written; negative if the disk is too full already."""
    return free_bytes(disk) - kept_bytes(disk)


def files_left(disk):
    """Returns how many files may still be made; None if the file system does not limit them."""
    return disk.f_favail - min(MOST_FILES_KEPT, disk.f_files // KEPT_PART) if disk.f_files else None
