"""Where python keeps what it imports, and the environment variables that it starts with."""

import os
import site
import sys
import sysconfig

# What the interpreter and shared libraries may want late, besides the environment itself; what is absent is left out.
SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store", "/usr/share/zoneinfo",
          "/usr/share/fonts", "/usr/share/fontconfig", "/etc/fonts", "/etc/ld.so.cache", "/etc/localtime",
          "/etc/alternatives", "/sys/devices/system/cpu", "/proc/cpuinfo", "/dev/urandom", "/dev/random", "/dev/zero")
MAC_SYSTEM = ("/usr/lib", "/usr/share", "/System", "/Library/Fonts", "/Library/Frameworks", "/private/etc/localtime",
              "/private/var/db/timezone", "/private/var/db/dyld", "/dev/null", "/dev/urandom", "/dev/random")


def python_prefixes():
    """The folders a python process must see to start: the environment and the interpreter it was made from."""
    program = os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))
    return existing([sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, program])


def python_paths():
    """The folders a running python imports from and loads libraries from; smaller than `python_prefixes`."""
    inside = [os.path.join(prefix, name) for prefix in python_prefixes() for name in ("lib", "lib64")]
    schemes = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return existing(inside + schemes + site_folders() + library_path())


def site_folders():
    """Where packages are installed."""
    return [p for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages")]


def library_path():
    """Where modules of a computing cluster keep their libraries."""
    return [p for p in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if os.path.isabs(p)]


def existing(paths):
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
