"""A User Mode Linux kernel as a reference: a kernel that runs as a process, in simulated time.

The kernel's root is this machine's, read-only (hostfs), so it runs the same `sh`, `ip`, `tc` and
Python, and the same test as `vegasfluid export --format netns`. Its clock moves on only while all
of its processes sleep (`time-travel=inf-cpu`): a run is exact at any rate, whatever the machine
does meanwhile. A kernel whose random numbers can be seeded repeats a run to the bit.

Sources:
    Linux, Documentation/virt/uml/user_mode_linux_howto_v2.rst, arch/um/Kconfig
    (UML_TIME_TRAVEL_SUPPORT), arch/um/kernel/time.c; Documentation/admin-guide/sysrq.rst.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from vegasfluid.crosscheck.linux.privileged import require_programs
from vegasfluid.crosscheck.programs import ProgramFailed, run_program
from vegasfluid.crosscheck.reference import Reference
from vegasfluid.errors import ComputationFailed, InvalidInput

__all__ = ["user_mode_kernel"]

MEMORY = "1024M"
"""Largest memory of the kernel, of which it takes only what it uses (chosen)."""
BOOT_TIME = 1_700_000_000_000_000_000
"""Time of day at which the kernel starts, ns (chosen: always the same, so that runs repeat)."""
SEED = "UML_SEED"
"""Environment variable with the seed of the kernel's random numbers, where the kernel has one."""
LONGEST_QUESTION = 20.0
"""Longest time that a kernel may take to print its version, s (chosen)."""
OUTPUT, ERRORS, STATUS = "output", "errors", "status"
"""Files in which the test's output, its messages and its exit status are left."""
CONSOLE = "console"
"""File for the kernel's messages; a pipe would interrupt the kernel, so that no run repeats."""
TCP_MEMORY = "400000 500000 600000"
"""Three limits of the memory pages of all sockets, as in `tcp_mem` (chosen: none is reached)."""

INIT = f"""\
#!/bin/sh
# The first process of the kernel: runs the test, and switches off.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin TMPDIR=/run
folder=$(readlink /proc/self/cwd)
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/work
mount -t hostfs none /run/work -o "$folder"
cd /run/work || exit
echo "{TCP_MEMORY}" > /proc/sys/net/ipv4/tcp_mem
sh test.sh "$(cat seed)" > {OUTPUT} 2> {ERRORS}
echo $? > {STATUS}
sync
echo o > /proc/sysrq-trigger
sleep 1000
"""
"""Shell script that the kernel runs as its first process."""


def user_mode_kernel(kernel: Path) -> Reference:
    """The reference Linux with a User Mode Linux kernel.

    Args:
        kernel: path of the kernel, a program.

    Raises:
        InvalidInput: for a path that is no such kernel.
        NotInstalled: if `ip` or `tc` is missing.
    """
    version = version_of(kernel)
    require_programs()
    program = kernel.resolve()

    def run(folder: Path, seed: int) -> str:
        """Run the exported test in `folder` in the kernel with a seed; return its output."""
        init = folder / "init"
        init.write_text(INIT, encoding="utf-8")
        init.chmod(0o755)
        (folder / "seed").write_text(f"{seed}\n", encoding="utf-8")
        command = ["sh", "-c", f'exec "$@" > {CONSOLE} 2>&1', "sh", *boot_command(program)]
        try:
            run_program(command, folder, environment=environment_of(folder, seed))
        except ProgramFailed as failure:
            reason = f"status {failure.status}: {last_line(folder / CONSOLE)}"
            raise ComputationFailed(f"crosscheck: the kernel ended with {reason}") from None
        return result_of(folder)

    return Reference(f"Linux {version}", "netns", run)


def version_of(kernel: Path) -> str:
    """Version of a User Mode Linux kernel, such as `6.1.176`.

    Raises:
        InvalidInput: for a path that is no such kernel.
    """
    allowed = "a User Mode Linux kernel (ARCH=um)"
    if not kernel.is_file() or not os.access(kernel, os.X_OK):
        raise InvalidInput("crosscheck", "--kernel", allowed, str(kernel))
    try:
        done = subprocess.run(
            [kernel.resolve(), "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST_QUESTION,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        raise InvalidInput("crosscheck", "--kernel", allowed, str(kernel)) from None
    words = done.stdout.split()
    if done.returncode or len(words) != 1 or not words[0][0].isdigit():
        raise InvalidInput("crosscheck", "--kernel", allowed, str(kernel))
    return words[0]


def boot_command(kernel: Path) -> list[str]:
    """Command that boots a kernel in the current folder, where possible at the same addresses.

    The command line is the same in every folder, as the kernel's random numbers depend on it.
    """
    same_addresses = shutil.which("setarch")
    return [
        *([same_addresses, "-R"] if same_addresses else []),
        str(kernel),
        f"mem={MEMORY}",
        "root=none",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        "init=/proc/self/cwd/init",
        "con=null",
        "con0=null,fd:1",
        "panic=-1",
        "random.trust_cpu=0",
        "time-travel=inf-cpu",
        f"time-travel-start={BOOT_TIME}",
    ]


def environment_of(folder: Path, seed: int) -> dict[str, str]:
    """Environment of a kernel: its seed, the Python that runs the test, and where its memory is."""
    memory = Path("/dev/shm")
    return {
        "HOME": str(folder),
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHON": sys.executable,
        "TMPDIR": str(memory if memory.is_dir() else folder),
        SEED: str(seed),
    }


def result_of(folder: Path) -> str:
    """What the test in a folder printed.

    Raises:
        ComputationFailed: if the kernel stopped before the end of the test, or the test failed.
    """
    status = folder / STATUS
    if not status.exists():
        raise ComputationFailed("crosscheck: the kernel stopped before the test had ended.")
    if status.read_text() != "0\n":
        reason = last_line(folder / ERRORS)
        raise ComputationFailed(f"crosscheck: the test failed in the kernel: {reason}")
    return (folder / OUTPUT).read_text(encoding="utf-8")


def last_line(path: Path) -> str:
    """Last line with text of the file `path`, or a note that there is none."""
    text = path.read_text(errors="replace") if path.exists() else ""
    return (text.strip() or "it printed nothing").splitlines()[-1].strip()
