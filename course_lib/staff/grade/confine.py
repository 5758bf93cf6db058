"""What a process gives away before it runs a student's code, and the probe of what this machine can enforce.

Standard library and ctypes only, and no other module of the course: the file is copied beside the worker.

    template:  ready = prepare(level, readable)            once, before it forks
    child:     ready.apply(memory)                         first thing after the fork, in its only thread

Landlock says which files can be touched, a seccomp filter which system calls can be made, rlimits how much can
be used; each closes what the others leave open. Bubblewrap, where it works, hides the rest of the machine.
"""

import ctypes
import errno
import os
import platform
import shutil
import signal
import site
import socket
import struct
import subprocess
import sys
import sysconfig
import tempfile
import threading

try:
    import resource
except ImportError:  # not a Unix: level C, and nothing below is called
    resource = None

LEVELS = {
    "A": "bubblewrap + Landlock + seccomp + rlimits",
    "B": "Landlock + seccomp + rlimits",
    "M": "macOS sandbox",
    "C": "rlimits and kill only",
}
MIB = 2**20
FILE_SIZE, OPEN_FILES, CPU_SECONDS, THREADS = 64 * MIB, 64, 3600, 64

# What the interpreter and shared libraries may want late, besides the environment itself; what is absent is left out.
SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store", "/usr/share/zoneinfo",
          "/usr/share/fonts", "/usr/share/fontconfig", "/etc/fonts", "/etc/ld.so.cache", "/etc/localtime",
          "/etc/alternatives", "/sys/devices/system/cpu", "/proc/cpuinfo", "/dev/urandom", "/dev/random", "/dev/zero")
MAC_SYSTEM = ("/usr/lib", "/usr/share", "/System", "/Library/Fonts", "/Library/Frameworks", "/private/etc/localtime",
              "/private/var/db/timezone", "/private/var/db/dyld", "/dev/null", "/dev/urandom", "/dev/random")


# Where python keeps what it imports

def python_prefixes():
    """The folders a python process must see to start: the environment and the interpreter it was made from."""
    program = os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))
    return _existing([sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, program])


def python_paths():
    """The folders a running python imports from and loads libraries from; smaller than `python_prefixes`."""
    inside = [os.path.join(prefix, name) for prefix in python_prefixes() for name in ("lib", "lib64")]
    schemes = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return _existing(inside + schemes + _site_folders() + _library_path())


def _site_folders():
    return [p for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages")]


def _library_path():
    """Where modules of a computing cluster keep their libraries."""
    return [p for p in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if os.path.isabs(p)]


def _existing(paths):
    """Absolute, once each, never the root of all."""
    return [p for p in dict.fromkeys(map(os.path.abspath, paths)) if os.path.exists(p) and p != os.sep]


def environment(scratch=""):
    """The environment variables a template starts with: no secrets of the judge's, one thread for every library."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1")
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    if site.ENABLE_USER_SITE:  # found by HOME, which is another one here
        kept["PYTHONUSERBASE"] = site.getuserbase()
    return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": scratch or "/nonexistent", "USER": "student",
            "LOGNAME": "student", "TMPDIR": scratch or "/tmp",
            "TORCHINDUCTOR_CACHE_DIR": scratch or "/tmp",  # torch.optim wants to make one when it is first used
            "TORCHDYNAMO_DISABLE": "1",  # torch.compile gives back what it is given: no compiler can be started
            "MPLBACKEND": "agg", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1",
            "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",  # larger pages of memory: a fork copies a third of the table
            "CUDA_VISIBLE_DEVICES": "", **one, **kept}


# The command line of a template

def wrapped(command, level, readable=(), scratch="", hidden=(), variables=None):
    """The command line that runs `command` as a template at this level.

    readable:  files and folders it sees besides python's own
    scratch:   the one folder in which it may write, or ""
    hidden:    folders inside what it sees that it must not (the course's own code, where that is installed)
    variables: its whole environment, whatever the caller's is; `environment(scratch)` where None
    An open socket passed with `pass_fds` reaches the command.
    """
    variables = environment(scratch) if variables is None else variables
    line = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in variables.items())]
    if level == "A":
        line += [*_bwrap(readable, scratch, hidden), "--"]
    if level == "M":
        line += ["/usr/bin/sandbox-exec", "-p", _mac_profile(command[0], readable, scratch)]
    return [*line, *command]


def _bwrap(readable, scratch, hidden):
    line = [shutil.which("bwrap") or "/usr/bin/bwrap", "--die-with-parent", "--cap-drop", "ALL"]
    root = _is_full_root()
    for kind in ("pid", "net", "ipc", "uts", "cgroup-try", *([] if root else ["user"])):
        line.append("--unshare-" + kind)
    for capability in TEMPLATE_CAPABILITIES if root else ():
        line += ["--cap-add", capability]
    line += ["--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev"]  # first: what is bound below may lie inside /tmp
    for path in ("/usr", "/lib", "/lib64"):
        line += _shown(path)
    seen = [p for p in SYSTEM if p.startswith(("/etc", "/sys", "/nix"))] + _library_path() + _site_folders()
    for path in sorted(_existing([*python_prefixes(), *seen, *readable]), key=len):  # an outer folder before an inner
        line += ["--ro-bind", path, path]
    for path in _existing(hidden):
        line += ["--tmpfs", path, "--remount-ro", path]
    if scratch:
        line += ["--bind", scratch, scratch]
    return line + ["--remount-ro", "/", "--chdir", "/"]


def _shown(path):
    """/lib is a link on most machines: the link is made again, or the loader would not be found."""
    if os.path.islink(path):
        return ["--symlink", os.readlink(path), path]
    return ["--ro-bind", path, path] if os.path.exists(path) else []


def _mac_profile(program, readable, scratch):
    """Seatbelt's language: all that is not allowed is denied."""
    def names(kind, paths):
        real = dict.fromkeys(p for path in paths for p in (path, os.path.realpath(path)))
        return " ".join(f"({kind} {_quoted(p)})" for p in real)

    rules = ["(version 1)", "(deny default)", "(allow process-fork)", "(allow signal (target same-sandbox))",
             "(allow sysctl-read)", "(allow file-read-metadata)", "(allow file-ioctl (literal \"/dev/null\"))",
             f"(allow process-exec {names('literal', [program, sys.executable])})",
             f"(allow file-read* {names('subpath', [*python_prefixes(), *_site_folders(), *MAC_SYSTEM, *readable])})",
             "(allow file-read-data (literal \"/\"))", "(allow file-write-data (literal \"/dev/null\"))"]
    if scratch:
        rules.append(f"(allow file-read* file-write* {names('subpath', [scratch])})")
    return "\n".join(rules)


def _quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# A child, before it runs anything of a student's

def prepare(level, readable=(), scratch="", hidden=()):
    """All that can be done once in a template; its `apply` is what each child pays for.

    readable, scratch, hidden: as in `wrapped`. Raises OSError where the level cannot be enforced here.
    """
    return Confinement(level, readable, scratch, hidden)


def confine(level, readable, scratch, memory):
    """`prepare` and `apply` at once, where a process is confined only one time."""
    prepare(level, readable, scratch).apply(memory)


class Confinement:
    """What one template's children give away."""

    def __init__(self, level, readable, scratch, hidden):
        self.kernel = level in ("A", "B")
        tempfile.tempdir = scratch or "/tmp"  # or python tries to write in all of them, and torch.optim cannot be used
        self.threads = _own_tasks() + 4 * THREADS if self.kernel else None
        if self.kernel:
            self.filter, self.own_pid_at = _filter()
            self.ruleset = _ruleset(_grants(readable, scratch, hidden))

    def apply(self, memory):
        """Confine this process for good: it must have one thread. memory: bytes it may take beyond what it has.

        Raises OSError where any part fails; the caller must then end without running anything.
        """
        if self.kernel:
            threads = THREADS if _become_nobody() else self.threads
            _give_up_capabilities()
            _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            undumpable()
            _limit(memory, threads)
            _prctl(PR_SET_NO_NEW_PRIVS, 1)
            _checked("landlock_restrict_self", self.ruleset, 1 if landlock_version() >= 7 else 0)  # 1: no audit log
            os.close(self.ruleset)
            _install(self.filter, self.own_pid_at)
        elif resource:
            _limit(memory, None)


def undumpable():
    """Close this process's memory, environment and core dump to others of the same user (Linux; elsewhere nothing)."""
    if sys.platform == "linux":
        _prctl(PR_SET_DUMPABLE, 0)


def _limit(memory, threads):
    limits = {"RLIMIT_AS": _size() + memory, "RLIMIT_CPU": CPU_SECONDS, "RLIMIT_FSIZE": FILE_SIZE,
              "RLIMIT_NOFILE": OPEN_FILES, "RLIMIT_MEMLOCK": MIB, "RLIMIT_CORE": 0, "RLIMIT_NPROC": threads}
    for name, value in limits.items():
        kind = getattr(resource, name, None)
        if kind is None or value is None or sys.platform == "darwin" and name == "RLIMIT_AS":
            continue
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _size():
    """Bytes of address space this process has now."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _own_tasks():
    """How many threads this user has: RLIMIT_NPROC counts them all."""
    count, user = 0, os.geteuid()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat("/proc/" + name).st_uid == user:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    return count


# Linux: numbers of system calls and of what they take

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER = 1, 4, 8, 22, 36
PR_SET_NO_NEW_PRIVS = 38
ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}  # audit number, column below

# Denied outright: name, number on x86_64, number on aarch64 (- where it has none).
DENIED = """
socket 41 198, socketpair 53 199, connect 42 203, bind 49 200, listen 50 201, accept 43 202, accept4 288 242,
sendmsg 46 211, sendmmsg 307 269, recvmmsg 299 243, execve 59 221, execveat 322 281, fork 57 -, vfork 58 -,
ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440,
process_mrelease 448 448, kcmp 312 272, pidfd_open 434 434, pidfd_send_signal 424 424, pidfd_getfd 438 438,
get_robust_list 274 100, io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427,
io_setup 206 0, bpf 321 280, perf_event_open 298 241, userfaultfd 323 282, seccomp 317 277,
keyctl 250 219, add_key 248 217, request_key 249 218, personality 135 92, memfd_create 319 279, memfd_secret 447 447,
mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, move_mount 429 429, open_tree 428 428,
fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr 442 442, unshare 272 97,
setns 308 268, chmod 90 -, fchmod 91 52, fchmodat 268 53, chown 92 -, fchown 93 55, lchown 94 -, fchownat 260 54,
utime 132 -, utimes 235 -, futimesat 261 -, utimensat 280 88, setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7,
removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16, mknod 133 -, mknodat 259 33, truncate 76 45,
link 86 -, linkat 265 37, symlink 88 -, symlinkat 266 36, uselib 134 -, ustat 136 -, sysfs 139 -,
setuid 105 146, setgid 106 144, setreuid 113 145, setregid 114 143, setresuid 117 147, setresgid 119 149,
setfsuid 122 151, setfsgid 123 152, setgroups 116 159, capset 126 91, setsid 112 157, setpgid 109 154,
quotactl 179 60, quotactl_fd 443 443, swapon 167 224, swapoff 168 225, reboot 169 142, kexec_load 246 104,
kexec_file_load 320 294, init_module 175 105, finit_module 313 273, delete_module 176 106, ioperm 173 -,
iopl 172 -, modify_ldt 154 -, acct 163 89, syslog 103 116, settimeofday 164 170, clock_settime 227 112,
clock_adjtime 305 266, adjtimex 159 171, sethostname 170 161, setdomainname 171 162, vhangup 153 58,
lookup_dcookie 212 18, shmget 29 194, shmat 30 196, shmctl 31 195, msgget 68 186, msgsnd 69 189, msgrcv 70 188,
msgctl 71 187, semget 64 190, semop 65 193, semtimedop 220 192, semctl 66 191, mq_open 240 180, mq_unlink 241 181,
mq_timedsend 242 182, mq_timedreceive 243 183, mq_notify 244 184, mq_getsetattr 245 185,
open_by_handle_at 304 265, name_to_handle_at 303 264, fanotify_init 300 262, fanotify_mark 301 263,
inotify_init 253 -, inotify_init1 294 26, inotify_add_watch 254 27, migrate_pages 256 238, move_pages 279 239,
sync 162 81, syncfs 306 267
"""
UNKNOWN = {"clone3": (435, 435), "openat2": (437, 437)}  # answered ENOSYS: the C library then takes the older call
NEWEST = 449  # a number above is a call this list has not judged, and is answered ENOSYS too

# Allowed where one argument is one of some values: number, number, argument, values. "self" is the process's own id.
ALLOWED_FOR = (
    (62, 129, 0, ("self",)),  # kill
    (200, 130, 0, ("self",)),  # tkill
    (234, 131, 0, ("self",)),  # tgkill
    (129, 138, 0, ("self",)),  # rt_sigqueueinfo
    (297, 240, 0, ("self",)),  # rt_tgsigqueueinfo
    (302, 261, 0, ("self", 0)),  # prlimit64
    (203, 122, 0, ("self", 0)),  # sched_setaffinity
    (144, 119, 0, ("self", 0)),  # sched_setscheduler
    (142, 118, 0, ("self", 0)),  # sched_setparam
    (314, 274, 0, ("self", 0)),  # sched_setattr
    (157, 167, 0, (3, 15, 16, 23, 0x53564D41)),  # prctl: names of threads and of memory, and two questions
    (16, 29, 1, (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)),  # ioctl: is it a terminal, and flags
    (44, 206, 4, (0,)),  # sendto: to no address, that is on the open connection
)
ALLOWED_ON_ITSELF = ((141, 140, 0), (251, 30, 1))  # setpriority, ioprio_set: a process, then which
DENIED_FCNTL = (8, 10, 15, 1024, 1026)  # F_SETOWN, F_SETSIG, F_SETOWN_EX (signals to others), F_SETLEASE, F_NOTIFY
CLONE_THREAD, CLONE_NEW_ANYTHING = 0x00010000, 0x7E020080
O_ACCMODE, O_TRUNC = 0o3, 0o1000

_LIBC = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
_LANDLOCK = {"landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446}


def _checked(name, *arguments):
    """A Landlock call by number. Raises OSError."""
    numbers = [a if isinstance(a, ctypes.c_void_p | bytes | None) else ctypes.c_long(a) for a in arguments]
    result = _LIBC.syscall(ctypes.c_long(_LANDLOCK[name]), *numbers)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def _prctl(option, value, pointer=None):
    if _LIBC.prctl(option, ctypes.c_ulong(value), pointer, ctypes.c_ulong(0), ctypes.c_ulong(0)) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}: {os.strerror(ctypes.get_errno())}")


# Linux: identity

NOBODYS = 2**31  # user ids from here on belong to nobody
TEMPLATE_CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH")
_SETUID, _SETGID, _KILL, _DAC_OVERRIDE, _DAC_READ_SEARCH, _SYS_ADMIN = (1 << n for n in (7, 6, 5, 1, 2, 21))


def _capabilities():
    """The capabilities in effect and those permitted, of the first 32."""
    data = ctypes.create_string_buffer(24)
    _LIBC.capget(struct.pack("=Ii", 0x20080522, 0), data)
    return struct.unpack_from("=II", data.raw)


def _set_capabilities(bits):
    half = struct.pack("=III", bits & 0xFFFFFFFF, bits & 0xFFFFFFFF, 0)
    if _LIBC.capset(struct.pack("=Ii", 0x20080522, 0), half + bytes(12)) != 0:
        raise OSError(ctypes.get_errno(), "capset: " + os.strerror(ctypes.get_errno()))


def _is_full_root():
    return sys.platform == "linux" and os.geteuid() == 0 and bool(_capabilities()[0] & _SYS_ADMIN)


def _become_nobody():
    """As root, become a user that nobody is: RLIMIT_NPROC does not bind root. Say whether that was possible.

    What root could read stays readable (Landlock says what that is), for an environment may lie in root's home.
    """
    needed = _SETUID | _SETGID | _KILL | _DAC_OVERRIDE
    if os.geteuid() != 0 or _capabilities()[0] & needed != needed:
        return False
    number = int.from_bytes(os.urandom(4), "little") % 2**30 + NOBODYS
    _prctl(PR_SET_KEEPCAPS, 1)
    try:
        os.setgroups([])
        os.setresgid(number, number, number)
        os.setresuid(number, number, number)
    except OSError:  # a container that maps few users
        return False
    return True


def _give_up_capabilities():
    kept = _DAC_OVERRIDE | _DAC_READ_SEARCH if os.getuid() >= NOBODYS else 0
    _set_capabilities(_capabilities()[1] & kept)


# Linux: Landlock

(_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE, _MAKE_CHAR, _MAKE_DIR, _MAKE_REG,
 _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM, _REFER, _TRUNCATE, _IOCTL_DEV) = (1 << n for n in range(16))
_READ = _READ_FILE | _READ_DIR
_WRITE = _READ | _WRITE_FILE | _TRUNCATE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV


def landlock_version():
    """Which version of Landlock the kernel speaks; 0 where it has none or it is switched off."""
    try:
        return _checked("landlock_create_ruleset", None, 0, 1)
    except OSError:
        return 0


def _grants(readable, scratch, hidden):
    """Which paths may be used how: (path, rights) pairs."""
    grants = {}
    hidden = [os.path.realpath(h) for h in _existing(hidden)]
    for path in [*python_paths(), *_existing(SYSTEM), *_existing(readable)]:
        for part, rights in _without(os.path.realpath(path), hidden):
            grants[part] = grants.get(part, 0) | rights
    grants["/dev/null"] = _READ_FILE | _WRITE_FILE
    if scratch:
        grants[os.path.realpath(scratch)] = _WRITE
    return grants


def _without(path, hidden):
    """The path, or where something hidden lies inside it, all else in it: Landlock can only allow."""
    if path in hidden:
        return
    if not any(h.startswith(path + os.sep) for h in hidden):
        yield path, _READ
        return
    yield path, _READ_DIR
    for entry in os.scandir(path):
        if not entry.is_symlink():
            yield from _without(entry.path, hidden)


def _ruleset(grants):
    """An open Landlock ruleset that handles all this kernel can handle and grants just this."""
    version = landlock_version()
    if version == 0:
        raise OSError(errno.ENOSYS, "this kernel has no Landlock")
    files = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    attributes = struct.pack("=QQQ", files, 0b11, 0b11)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = _checked("landlock_create_ruleset", attributes, len(attributes), 0)
    for path, rights in grants.items():
        try:
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        allowed = rights & files if os.path.isdir(path) else rights & files & _OF_A_FILE
        try:
            if allowed:
                _checked("landlock_add_rule", ruleset, 1, struct.pack("=Qi", allowed, opened), 0)
        finally:
            os.close(opened)
    return ruleset


# Linux: seccomp

_LOAD, _EQUAL, _GREATER, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x54, 0x06
_ALLOW, _REFUSE, _NO_SUCH = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
_OWN_PID = object()


def _filter():
    """The BPF program as bytes, and the offsets at which a child puts its own process id."""
    if platform.machine() not in ARCHITECTURES or struct.calcsize("P") != 8:
        raise OSError(errno.ENOSYS, f"no list of system calls for {platform.machine()}")
    architecture, column = ARCHITECTURES[platform.machine()]
    program = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _REFUSE),
               (_LOAD, 0, 0, 0), (_GREATER, 0, 1, NEWEST), (_RETURN, 0, 0, _NO_SUCH)]  # x32's numbers are above, too
    rules = _rules(column)
    for number in sorted(rules):
        program += [(_EQUAL, 0, len(rules[number]), number), *rules[number]]
    program.append((_RETURN, 0, 0, _ALLOW))
    own = [8 * i + 4 for i, (*_, value) in enumerate(program) if value is _OWN_PID]
    return b"".join(struct.pack("=HBBI", *step, 0 if value is _OWN_PID else value)
                    for *step, value in program), own


def _rules(column):
    """What follows the number of a system call, each ending in a verdict."""
    rules = {}
    for entry in DENIED.replace("\n", " ").split(","):
        number = entry.split()[1 + column]
        if number != "-":
            rules[int(number)] = [(_RETURN, 0, 0, _REFUSE)]
    rules |= {numbers[column]: [(_RETURN, 0, 0, _NO_SUCH)] for numbers in UNKNOWN.values()}
    for *numbers, argument, values in ALLOWED_FOR:
        rules[numbers[column]] = _among(argument, values)
    for *numbers, process in ALLOWED_ON_ITSELF:
        rules[numbers[column]] = [*_load(0), (_EQUAL, 1, 0, process), (_RETURN, 0, 0, _REFUSE),
                                  *_among(1, ("self", 0))]
    rules[(72, 25)[column]] = _among(1, DENIED_FCNTL, then=_REFUSE, otherwise=_ALLOW)
    rules[(56, 220)[column]] = [*_load(0), (_ANY_BIT, 2, 0, CLONE_NEW_ANYTHING), (_ANY_BIT, 0, 1, CLONE_THREAD),
                                (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    rules[(257, 56)[column]] = _no_truncation(2)  # openat
    if column == 0:
        rules[2] = _no_truncation(1)  # open
    return rules


def _load(argument, high=False):
    return [(_LOAD, 0, 0, 16 + 8 * argument + 4 * high)]


def _among(argument, values, then=_ALLOW, otherwise=_REFUSE):
    """One verdict where the argument's low half is one of the values, another where not.

    The kernel reads these arguments as 32 bits, but for sendto's address: there the high half must be 0 as well.
    """
    values = [_OWN_PID if v == "self" else v for v in values]
    tests = [(_EQUAL, len(values) - i, 0, v) for i, v in enumerate(values)]
    verdicts = [(_RETURN, 0, 0, otherwise), (_RETURN, 0, 0, then)]
    if argument == 4:
        return [*_load(4, high=True), (_EQUAL, 1, 0, 0), (_RETURN, 0, 0, otherwise), *_load(4), *tests, *verdicts]
    return [*_load(argument), *tests, *verdicts]


def _no_truncation(argument):
    """Refuse O_RDONLY | O_TRUNC, which empties a file and which older Landlocks take for reading."""
    return [*_load(argument), (_AND, 0, 0, O_ACCMODE | O_TRUNC), (_EQUAL, 0, 1, O_TRUNC), (_RETURN, 0, 0, _REFUSE),
            (_RETURN, 0, 0, _ALLOW)]


def _install(program, own_pid_at):
    code = bytearray(program)
    for offset in own_pid_at:
        struct.pack_into("=I", code, offset, os.getpid())
    code = bytes(code)
    text = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(text)))
    _prctl(PR_SET_SECCOMP, 2, header)


# The probe

def probe():
    """The best level this machine enforces, found by trying in a process of its own: "A", "B", "M" or "C"."""
    for level in {"linux": "AB", "darwin": "M"}.get(sys.platform, ""):
        if _holds(level):
            return level
    return "C"


def _holds(level):
    """Does a process at this level fail at all it must fail at, and succeed at what honest code needs?"""
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        canary = os.path.join(folder, "canary")
        with open(canary, "w") as file:
            file.write("not for you")
        command = [sys.executable, "-I", "-S", os.path.abspath(__file__), level, canary, str(server.getsockname()[1])]
        try:
            done = subprocess.run(wrapped(command, level, [here]), stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            return False
        with open(canary) as file:
            return done.returncode == 0 and done.stdout == b"held\n" and file.read() == "not for you"


def _trial(level, canary, port):
    """What `_holds` starts: all the attempts, in a confined child of its own; exit status 0 where level holds."""
    if level == "A" and not _is_alone(canary):
        return 1
    if level == "M":
        return 0 if _all_refused(canary, port, level) else 1
    ready = prepare(level, [os.path.dirname(os.path.abspath(__file__))])
    child = os.fork()
    if child == 0:
        status = 1
        try:
            ready.apply(512 * MIB)
            status = 0 if _all_refused(canary, port, level) and _honest_work_goes_on() else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _is_alone(canary):
    """Are the files, the processes and the network of the machine out of sight?"""
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    return not os.path.exists(canary) and len(processes) < 8 and [n for _, n in socket.if_nameindex()] in (["lo"], [])


def _all_refused(canary, port, level):
    attempts = [lambda: open(canary), lambda: open(canary, "w"), lambda: os.listdir(os.path.dirname(canary)),
                lambda: socket.create_connection(("127.0.0.1", int(port)), timeout=5),
                lambda: os.open(canary, os.O_RDONLY | os.O_TRUNC), lambda: os.mkdir(canary + ".d"),
                lambda: os.execv("/bin/sh", ["sh", "-c", "exit 1"])]
    if level != "M":
        attempts += [socket.socket, lambda: os.fork() or os._exit(1), lambda: os.kill(os.getppid(), 0),
                     lambda: os.kill(0, 0), lambda: os.kill(-1, 0), lambda: os.chmod(canary, 0o600),
                     lambda: open(f"/proc/{os.getppid()}/environ"), lambda: open("/proc/self/mem"),
                     lambda: resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE), os.setsid]
    return all(map(_refused, attempts))


def _refused(attempt):
    try:
        attempt()
    except OSError as error:
        return error.errno in (errno.EPERM, errno.EACCES, errno.ENOENT, errno.EROFS, errno.ESRCH)
    return False


def _honest_work_goes_on():
    """Threads, signals to itself, late imports, /dev/null; and memory ends in MemoryError."""
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    os.kill(os.getpid(), 0)
    import wave  # noqa: F401  the standard library is readable
    with open(os.devnull, "w") as null:
        null.write("nothing")
    try:
        bytearray(1024 * MIB)
    except MemoryError:
        return True
    return False


def missing(level):
    """One sentence: what to install or allow for a better level; "" where there is none."""
    if sys.platform == "darwin":
        return "" if level == "M" else ("The macOS sandbox does not hold here: make sure that /usr/bin/sandbox-exec "
                                        "exists and that this process is not itself inside a sandbox.")
    if sys.platform != "linux":
        return "Grade on Linux (5.13 or newer), in WSL 2 or on a Mac: this system has no sandbox the grader knows."
    if level == "B":
        return ("For level A install bubblewrap (apt install bubblewrap) and allow unprivileged user namespaces, "
                "for instance by an AppArmor profile for /usr/bin/bwrap.")
    return "" if level == "A" else _missing_on_linux()


def _missing_on_linux():
    if platform.machine() not in ARCHITECTURES:
        return f"For level B grade on x86_64 or aarch64: the list of system calls does not cover {platform.machine()}."
    try:
        _checked("landlock_create_ruleset", None, 0, 1)
    except OSError as error:
        return {
            errno.ENOSYS: "For level B use Linux 5.13 or newer: this kernel has no Landlock.",
            errno.EOPNOTSUPP: "For level B add landlock to the lsm= list on the kernel's command line and boot again.",
        }.get(error.errno, "For level B let the container's seccomp profile pass the three landlock_* system calls.")
    return "For level B let this process install a seccomp filter and fork: what encloses it refuses one of them."


if __name__ == "__main__":
    result = _trial(*sys.argv[1:])
    if result == 0:
        print("held", flush=True)
    sys.exit(result)
