"""Linux: numbers of system calls and of what they take."""

import ctypes
import os

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

LIBC = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None


def prctl(option, value, pointer=None):
    """Set an attribute of this process. Raises OSError."""
    if LIBC.prctl(option, ctypes.c_ulong(value), pointer, ctypes.c_ulong(0), ctypes.c_ulong(0)) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}: {os.strerror(ctypes.get_errno())}")
