"""What a student's process can do to the machine that grades it: nothing that these tests could think of."""

import json
import os
import platform
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import matplotlib
import pytest

from course_lib.staff.grade import confine

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the kernel of Linux")

PACKAGE = Path(confine.__file__).parent
REFUSED = {"EPERM", "EACCES", "ENOENT", "EROFS", "ESRCH"}

# A template: imports torch, says so, then runs each line's code in a confined child and says how that ended.
TEMPLATE = """
import ctypes, errno, json, os, signal, socket, sys, time, torch, matplotlib, confine
import matplotlib.pyplot
level, fd, scratch, readable, hidden = json.loads(sys.argv[1])
torch.set_num_threads(1)
ready = confine.prepare(level, readable, scratch, hidden)
pipe = socket.socket(fileno=fd)
lines = pipe.makefile("r")

def outcome(attempt, *arguments):
    try:
        attempt(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    except Exception as error:
        return type(error).__name__
    return "done"

def call(number, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) >= 0:
        return "done"
    return errno.errorcode[ctypes.get_errno()]

def say(**message):
    pipe.sendall(json.dumps(message).encode() + b"\\n")

say(ready=True)
for line in lines:
    code, names = json.loads(line)
    child = os.fork()
    if child == 0:
        began = time.process_time()
        ready.apply(MEMORY)
        cost = time.process_time() - began
        scope = {**globals(), **names}
        try:
            exec(code, scope)
            say(result=scope.get("result"))
        except BaseException as error:
            say(raised=repr(error))
        os._exit(0)
    say(status=os.waitpid(child, 0)[1])
""".replace("MEMORY", str(512 * confine.child.MIB))


class Template:
    """A template at one level; `run` gives what code in a child of it says, or the signal that ended the child."""

    def __init__(self, level, folder):
        self.level, self.scratch, self.readable = level, folder / "scratch", folder / "readable"
        self.hidden = self.readable / "hidden"
        for path in (self.scratch, self.hidden):
            path.mkdir(parents=True)
        shutil.copytree(PACKAGE, self.readable / "confine", ignore=shutil.ignore_patterns("__pycache__"))
        (self.readable / "template.py").write_text(TEMPLATE)
        (self.hidden / "answer.txt").write_text("42")
        self.ours, theirs = socket.socketpair()
        told = [level, theirs.fileno(), str(self.scratch), [str(self.readable)], [str(self.hidden)]]
        command = [sys.executable, str(self.readable / "template.py"), json.dumps(told)]
        for fonts in Path(matplotlib.get_cachedir()).glob("fontlist*.json"):  # finding them takes seconds
            shutil.copy(fonts, self.scratch)
        variables = {**confine.environment(str(self.scratch)), "MPLCONFIGDIR": str(self.scratch)}
        with theirs:
            self.process = subprocess.Popen(
                confine.wrapped(command, level, [str(self.readable)], str(self.scratch), [str(self.hidden)], variables),
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True)
        self.ours.settimeout(60)
        self.lines = self.ours.makefile("r")
        assert json.loads(self.lines.readline() or "{}").get("ready"), f"no template at level {level}"

    def run(self, code, **names):
        self.ours.sendall(json.dumps([code, names]).encode() + b"\n")
        said = {}
        while "status" not in said:
            line = self.lines.readline()
            assert line, "the template is gone"
            said |= json.loads(line)
        assert "raised" not in said, said["raised"]
        return said["result"] if "result" in said else -said["status"]

    def close(self):
        self.ours.close()
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module", params=["A", "B"])
def template(request, tmp_path_factory):
    if not confine.probing.holds(request.param):
        pytest.skip(f"level {request.param} cannot be enforced here")
    made = Template(request.param, tmp_path_factory.mktemp("level" + request.param))
    yield made
    made.close()


@pytest.fixture
def bystander():
    """A process of the same user that a student might reach for."""
    process = subprocess.Popen(["sleep", "60"], env={"SECRET": "token", "PATH": os.environ["PATH"]})
    yield process
    assert process.poll() is None, "it was killed"
    process.kill()
    process.wait()


# Files

def test_a_file_outside_cannot_be_read_and_a_folder_outside_cannot_be_listed(template, tmp_path):
    """A student's code printed another student's answer, or the instructor's ssh key."""
    secret = tmp_path / "secret"
    secret.write_text("seed")
    code = ("result = [outcome(open, secret), outcome(os.listdir, folder), outcome(os.listdir, home),"
            "outcome(open, '/etc/passwd'), outcome(os.listdir, '/'), outcome(open, '/proc/self/environ')]")
    outcomes = template.run(code, secret=str(secret), folder=str(tmp_path), home=os.path.expanduser("~"))
    assert set(outcomes) <= REFUSED


def test_what_is_hidden_inside_a_readable_folder_stays_hidden(template):
    """The course was installed into the environment, so that its solutions lay among the packages a child may read."""
    code = "result = [outcome(open, folder + '/hidden/answer.txt'), outcome(open, folder + '/template.py')]"
    hidden, shown = template.run(code, folder=str(template.readable))
    assert hidden in REFUSED and shown == "done"


def test_nothing_can_be_written_but_the_scratch_folder(template, tmp_path):
    """A student's code edited the checks, or planted a module that the next submission imports."""
    code = """
def write(path):
    with open(path + "/planted.py", "w") as file:
        file.write("x")
result = [outcome(write, path) for path in [*folders, scratch]] + [outcome(os.remove, victim)]
result += [outcome(os.open, victim, flags) for flags in (os.O_WRONLY, os.O_RDWR, os.O_TRUNC, os.O_APPEND | os.O_RDWR)]
result += [outcome(os.truncate, victim, 0), outcome(os.rename, victim, victim + "2"), outcome(open, victim)]
"""
    victim = template.readable / "template.py"
    site = os.path.dirname(os.path.dirname(pytest.__file__))
    folders = ["/tmp", "/dev/shm", "/var/tmp", os.path.expanduser("~"), str(tmp_path), str(template.readable), site]
    *outside, scratch, removed, o1, o2, o3, o4, cut, renamed, read = template.run(
        code, folders=folders, victim=str(victim), scratch=str(template.scratch))
    assert {*outside, removed, o1, o2, o3, o4, cut, renamed} <= REFUSED
    assert scratch == read == "done" and victim.read_text() == TEMPLATE
    assert (template.scratch / "planted.py").read_text() == "x"


def test_a_file_in_the_scratch_folder_is_only_a_file(template):
    """A link or FIFO left in the scratch folder made the judge read another file, or wait for ever."""
    code = """
at = scratch + "/thing"
result = [outcome(os.symlink, "/etc/passwd", at), outcome(os.mkfifo, at), outcome(os.link, readable, at)]
open(at, "w").close()
result += [outcome(os.chmod, at, 0o777), outcome(os.utime, at, (0, 0)), outcome(os.chown, at, 1, 1),
           outcome(os.setxattr, at, "user.a", b"1"), outcome(os.link, at, at + "2")]
"""
    outcomes = template.run(code, scratch=str(template.scratch), readable=str(template.readable / "template.py"))
    assert set(outcomes) <= REFUSED


def test_a_disk_cannot_be_filled_by_one_file(template):
    """One submission filled the disk of the machine."""
    code = f"""
file = open(scratch + "/big", "wb")
result = [outcome(file.truncate, {confine.child.FILE_SIZE} + 1)]
file.seek({confine.child.FILE_SIZE})
result.append(outcome(lambda: (file.write(b"x"), file.flush())))
"""
    assert template.run(code, scratch=str(template.scratch)) == ["EFBIG", "EFBIG"]


# Network

def test_no_socket_can_be_opened(template):
    """A student's code sent the hidden inputs to a friend, or asked a service for the answer."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as listener:
        name = f"\0course {os.getpid()}"
        listener.bind(name)
        listener.listen()
        code = """
def unix():
    socket.socket(socket.AF_UNIX).connect(name)
result = [outcome(socket.create_connection, ("127.0.0.1", port), 5), outcome(unix), outcome(socket.socketpair),
          outcome(socket.socket, socket.AF_INET, socket.SOCK_DGRAM), outcome(socket.socket, socket.AF_NETLINK)]
"""
        assert set(template.run(code, port=server.getsockname()[1], name=name)) == {"EPERM"}
        server.settimeout(0.05)
        with pytest.raises(TimeoutError):
            server.accept()


def test_the_open_connection_carries_bytes_and_nothing_else(template):
    """A child handed the judge an open file, or gave its end of the connection a name others could reach."""
    code = """
result = [outcome(socket.send_fds, pipe, [b"x"], [0]), outcome(pipe.sendto, b"x", "\\0name"),
          outcome(pipe.bind, "\\0name"), outcome(pipe.listen)]
"""
    assert set(template.run(code)) == {"EPERM"}


# Processes

def test_no_other_program_and_no_other_process_can_be_started(template):
    """A leftover process outlived its submission, and a fork bomb the grader."""
    code = """
import subprocess
result = [outcome(os.fork), outcome(os.forkpty), outcome(os.execv, "/bin/true", ["true"]),
          outcome(subprocess.run, ["/bin/true"]), outcome(os.posix_spawn, "/bin/true", ["true"], {})]
"""
    assert set(template.run(code)) <= REFUSED


def test_no_signal_reaches_another_process(template, bystander):
    """A student's code killed its template, its group, or all that the instructor was running."""
    code = """
def own(pid):
    import fcntl
    fcntl.fcntl(pipe, fcntl.F_SETOWN, pid)
me = os.getpid()
result = [outcome(os.kill, pid, signal.SIGKILL) for pid in (other, os.getppid())]
result += [outcome(os.kill, pid, signal.SIGCONT) for pid in (0, -1, 1, -os.getppid())]
result += [outcome(os.killpg, 0, signal.SIGCONT), outcome(os.setsid), outcome(os.setpgid, 0, 0), outcome(own, other),
           outcome(os.pidfd_open, other)]
mine = [outcome(os.kill, me, 0), outcome(signal.raise_signal, signal.SIGCONT)]
result = [result, mine]
"""
    others, mine = template.run(code, other=bystander.pid)
    assert set(others) <= REFUSED and set(mine) == {"done"}


def test_another_process_cannot_be_read_traced_or_limited(template, bystander):
    """A student's code read the seed from the memory or the environment of the process that judges it."""
    code = """
import resource
libc = ctypes.CDLL(None, use_errno=True)
def traced(pid, request):
    if libc.ptrace(ctypes.c_long(request), pid, None, None) < 0:
        raise OSError(ctypes.get_errno(), "")
def read(pid):
    piece = (ctypes.c_void_p * 2)(id(libc), 8)
    if libc.process_vm_readv(pid, piece, 1, piece, 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "")
result = []
for pid in (other, os.getppid()):
    result += [outcome(traced, pid, 16), outcome(traced, pid, 0x4206), outcome(read, pid),
               outcome(resource.prlimit, pid, resource.RLIMIT_CPU), outcome(os.sched_setaffinity, pid, [0]),
               outcome(os.setpriority, os.PRIO_PROCESS, pid, 5), outcome(os.setpriority, os.PRIO_USER, 0, 5)]
    result += [outcome(open, f"/proc/{pid}/{name}") for name in ("environ", "mem", "maps", "cmdline", "fd/0")]
"""
    assert set(template.run(code, other=bystander.pid)) <= REFUSED


def test_no_call_on_the_list_gets_past_the_filter(template):
    """A typing mistake in the table of system calls left one of them open."""
    column = confine.system_calls.ARCHITECTURES[platform.machine()][1]
    numbers = [entry.split()[1 + column] for entry in confine.system_calls.DENIED.replace("\n", " ").split(",")
               if entry.split()[0] not in ("fork", "vfork")]
    numbers = [int(n) for n in numbers if n != "-"]
    outcomes = template.run("result = [call(n, 0, 0, 0, 0, 0, 0) for n in numbers]", numbers=numbers)
    assert [n for n, o in zip(numbers, outcomes, strict=True) if o != "EPERM"] == []
    newer = [435, 437, 450, 461, 0x40000000 + 39, 0x40000000 + 57]
    assert set(template.run("result = [call(n, 0, 0, 0, 0, 0, 0) for n in numbers]", numbers=newer)) == {"ENOSYS"}


def test_rights_cannot_be_regained(template):
    """A child of root's template was still root: it mounted, changed its user, or raised its own limits."""
    code = """
import resource
def raise_limit():
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
result = [outcome(os.setuid, 0), outcome(os.setresuid, 0, 0, 0), outcome(os.chroot, "/"), outcome(os.nice, -5),
          call(unshare, 0x10000000), outcome(raise_limit), outcome(os.nice, 3)]
"""
    unshare = {"x86_64": 272, "aarch64": 97}[platform.machine()]
    *regained, limit, nicer = template.run(code, unshare=unshare)
    assert set(regained) == {"EPERM"} and (limit, nicer) == ("ValueError", "done")


def test_a_process_keeps_no_capability_that_matters(template):
    """As root, the child could still trace, mount and load modules but for one filter."""
    code = """
data = ctypes.create_string_buffer(24)
import struct
ctypes.CDLL(None).capget(struct.pack("=Ii", 0x20080522, 0), data)
result = struct.unpack("=6I", data.raw)
"""
    effective, permitted, inheritable, *high = template.run(code)
    harmless = confine.identity.DAC_OVERRIDE | confine.identity.DAC_READ_SEARCH
    assert (effective | permitted) & ~harmless == 0 and inheritable == 0 and high == [0, 0, 0]


# Using things up

def test_memory_ends_in_an_error_inside_the_child(template):
    """One submission's list took the memory of the machine, and the kernel killed another's process."""
    code = """
def hoard():
    kept = []
    while True:
        kept.append(bytearray(2**26))
result = [outcome(hoard), outcome(torch.zeros, 2**33), outcome(torch.zeros, 2**20)]
"""
    assert template.run(code) == ["MemoryError", "RuntimeError", "done"]


def test_a_bomb_of_threads_stops_early_and_leaves_the_machine_at_work(template):
    """As root no limit held: thirty thousand threads later no one else could start a process."""
    code = """
import threading
threading.stack_size(32768)
hold, count = threading.Event(), 0
try:
    while count < 5000:
        threading.Thread(target=hold.wait, daemon=True).start()
        count += 1
except RuntimeError:
    pass
say(bomb=count)
time.sleep(0.2)
result = count
"""
    started = []
    beside = threading.Timer(0.1, lambda: started.append(subprocess.run(["true"]).returncode))
    beside.start()
    assert 1 <= template.run(code) <= 8 * confine.child.THREADS
    beside.join()
    assert started == [0]
    assert template.run("import threading; t = threading.Thread(target=print); t.start(); t.join(); result = 1") == 1


def test_open_files_run_out_in_one_child_only(template):
    """The next, right answer failed because the one before it had left no file descriptors."""
    code = """
kept = []
def hoard():
    while True:
        kept.append(open(os.devnull))
result = [outcome(hoard), len(kept)]
"""
    for _ in range(2):
        error, count = template.run(code)
        assert error == "EMFILE" and 10 < count <= confine.child.OPEN_FILES


# Honest work

def test_honest_work_goes_on(template):
    """The sandbox failed right answers: a late import, training, a figure, a thread, a random number."""
    code = """
import io
late = [name for name in ("torch.distributions.gumbel", "torch.optim.swa_utils", "wave", "torch.utils.mobile_optimizer")
        if name not in sys.modules]
assert late, "nothing is left to import late"
for name in late:
    __import__(name)
torch.manual_seed(0)
model = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
optimizer = torch.optim.Adam(model.parameters())
x, losses = torch.randn(4, 5, 16), []
for _ in range(5):
    optimizer.zero_grad()
    loss = (model(x) - 1).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
figure, axes = matplotlib.pyplot.subplots()
axes.plot(losses)
axes.set_title("$\\\\alpha$ loss")
picture = io.BytesIO()
figure.savefig(picture, format="png")
os.urandom(8), os.cpu_count(), time.localtime()
with open(os.devnull, "w") as null:
    null.write("x")
result = [losses[-1] < losses[0], picture.getvalue()[:4] == b"\\x89PNG"]
"""
    assert template.run(code) == [True, True]


def test_nothing_of_the_judges_environment_reaches_a_template(template, monkeypatch):
    """An access token in the instructor's shell was in os.environ of every submission."""
    monkeypatch.setenv("COURSE_TOKEN", "secret")
    command = [sys.executable, "-c", "import os; print(*os.environ)"]
    seen = subprocess.run(confine.wrapped(command, template.level), capture_output=True, text=True).stdout.split()
    assert "COURSE_TOKEN" not in seen and "OMP_NUM_THREADS" in seen


def test_confining_a_child_costs_next_to_nothing(template):
    """Building the filter and the list of paths in each child cost more than the exercises in it."""
    costs = [template.run("result = cost") for _ in range(9)]
    assert statistics.median(costs) < 0.01, f"{1000 * statistics.median(costs):.1f} ms"


# The probe, and machines this is not

def test_the_level_is_found_by_trying_also_without_root(tmp_path):
    """The probe believed a version number, or held only for root."""
    assert confine.probe() in confine.LEVELS
    if os.geteuid() != 0:
        pytest.skip("this is not root: the other tests have shown it")
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        shutil.copytree(PACKAGE, folder / "confine", ignore=shutil.ignore_patterns("__pycache__"))
        python = next((p for p in (sys.executable, "/usr/bin/python3") if _runs_as_nobody(p)), None)
        if python is None:
            pytest.skip("no python that an unprivileged user can run")
        code = f"import sys; sys.path.insert(0, {str(folder)!r}); import confine\n"
        code += "print(confine.probe(), confine.probing.holds('B'))"
        done = subprocess.run([python, "-c", code], user=65534, group=65534, extra_groups=[], cwd="/",
                              capture_output=True, text=True)
        level, holds = done.stdout.split()
        assert level in confine.LEVELS and holds == str(confine.probing.holds("B")), done.stderr
    finally:
        shutil.rmtree(folder)


def _runs_as_nobody(python):
    try:
        code = "import sys; sys.exit(sys.version_info < (3, 11))"
        return subprocess.run([python, "-c", code], user=65534, group=65534, extra_groups=[], cwd="/",
                              capture_output=True).returncode == 0
    except OSError:
        return False


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6])
def test_an_older_landlock_is_enough(version, tmp_path):
    """What only newer kernels' Landlock refuses (truncation, TCP, signals) was open on an older one."""
    if confine.landlock.version() < version or not confine.probing.holds("B"):
        pytest.skip("this kernel has no such Landlock")
    (tmp_path / "canary").write_text("here")
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import confine\n"
            f"confine.landlock.version = lambda: {version}\n"
            "sys.exit(confine.probing.trial('B', sys.argv[2], sys.argv[3]))")
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [sys.executable, "-c", code, str(PACKAGE.parent), str(tmp_path / "canary"),
                   str(server.getsockname()[1])]
        assert subprocess.run(command).returncode == 0
    assert (tmp_path / "canary").read_text() == "here"


def test_without_landlock_the_level_is_c_and_a_sentence_says_what_to_do(monkeypatch):
    """On a kernel without Landlock the grader ended in a traceback, or graded without a sandbox and did not say so."""
    monkeypatch.setattr(confine.landlock, "version", lambda: 0)
    with pytest.raises(OSError, match="Landlock"):
        confine.prepare("B")
    monkeypatch.setattr(confine.probing, "holds", lambda level: False)
    assert confine.probe() == "C"
    assert confine.missing("C").endswith(".") and confine.missing("A") == ""


@pytest.mark.parametrize("open_door", [
    "",
    "child.Confinement.apply = lambda self, memory: None",
    "seccomp.install = lambda *_: None",
    "landlock.open_ruleset = lambda _: confine.landlock.call('landlock_create_ruleset', bytes([1] + 7 * [0]), 8, 0)",
    "child._limit = lambda *_: None",
])
def test_a_trial_that_is_not_confined_does_not_hold(open_door, monkeypatch):
    """The probe said a level holds where one of its parts did nothing."""
    if not confine.probing.holds("B"):
        pytest.skip("level B cannot be enforced here")
    code = (f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); import confine\n"
            f"{open_door and 'confine.' + open_door}\n"
            "if confine.probing.trial(*sys.argv[1:]) == 0: print('held')")
    monkeypatch.setattr(confine.probing, "wrapped", lambda command, *_: [sys.executable, "-c", code, *command[6:]])
    assert confine.probing.holds("B") == (open_door == "")


def test_level_c_limits_memory_and_says_no_more():
    """A machine without a sandbox let one submission take all its memory."""
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import confine\n"
            "confine.confine('C', [], '', 2**28)\n"
            "open(sys.argv[2]).close()\n"
            "try: bytearray(2**29)\nexcept MemoryError: print('MemoryError')")
    command = [sys.executable, "-c", code, str(PACKAGE.parent), __file__]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "MemoryError\n"


def test_without_a_scratch_folder_there_is_still_a_temporary_folder_to_name():
    """torch.optim asks where temporary files go; nowhere could be written, so that no one could train."""
    if not confine.probing.holds("B"):
        pytest.skip("level B cannot be enforced here")
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import confine, tempfile\n"
            "confine.confine('B', [], '', 2**28)\n"
            "open('/proc/cpuinfo').close()\n"
            "print(tempfile.gettempdir())\n"
            "try: tempfile.TemporaryFile()\nexcept PermissionError: print('refused')")
    command = [sys.executable, "-c", code, str(PACKAGE.parent)]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "/tmp\nrefused\n"


def test_an_undumpable_process_is_closed_to_others_of_the_same_user():
    """A student's process read the judge's memory under /proc."""
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import confine, ctypes; confine.undumpable()\n"
            "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))")
    command = [sys.executable, "-c", code, str(PACKAGE.parent)]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "0\n"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_of_each_architecture_says_what_it_should(machine, monkeypatch):
    """On the architecture nobody here runs, a jump was off by one and all was allowed."""
    monkeypatch.setattr(platform, "machine", lambda: machine)
    architecture, column = confine.system_calls.ARCHITECTURES[machine]
    code, own_pid_at = confine.seccomp.program()
    steps = [list(step) for step in struct.iter_unpack("=HBBI", code)]
    for offset in own_pid_at:
        steps[offset // 8][3] = 77

    def verdict(number, *arguments, arch=architecture):
        data = struct.pack("=iIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
        return {0x7FFF0000: "allow", 0x50001: "EPERM", 0x50026: "ENOSYS"}[_interpret(steps, data)]

    read, kill, clone, sendto, openat, fcntl, setpriority = (pair[column] for pair in (
        (0, 63), (62, 129), (56, 220), (44, 206), (257, 56), (72, 25), (141, 140)))
    assert verdict(read) == "allow" and verdict(read, arch=0x40000003) == "EPERM"
    assert verdict(kill, 77) == "allow" and verdict(kill, 78) == verdict(kill, 0) == verdict(kill, 2**64 - 1) == "EPERM"
    assert verdict(clone, 0x3D0F00) == "allow" and verdict(clone, 17) == verdict(clone, 0x10010000) == "EPERM"
    assert verdict(sendto, 3, 9, 9, 0, 0) == "allow"
    assert verdict(sendto, 3, 9, 9, 0, 2**40) == verdict(sendto, 3, 9, 9, 0, 5) == "EPERM"
    assert verdict(openat, 0, 0, 0o2000000) == verdict(openat, 0, 0, 0o1101) == "allow"
    assert verdict(openat, 0, 0, 0o1000) == "EPERM"
    assert verdict(fcntl, 3, 8) == "EPERM" and verdict(fcntl, 3, 1) == "allow"
    assert verdict(setpriority, 0, 0, 5) == verdict(setpriority, 0, 77, 5) == "allow"
    assert verdict(setpriority, 2, 0, 5) == verdict(setpriority, 0, 78, 5) == "EPERM"
    assert verdict(435) == verdict(450) == verdict(0x40000000) == "ENOSYS"
    for entry in confine.system_calls.DENIED.replace("\n", " ").split(","):
        number = entry.split()[1 + column]
        assert number == "-" or verdict(int(number)) == "EPERM", entry


def _interpret(steps, data):
    """What the kernel does with a BPF program of these few instructions."""
    at, value = 0, 0
    while True:
        code, yes, no, k = steps[at]
        at += 1
        if code == 0x06:
            return k
        if code == 0x20:
            value = struct.unpack_from("=I", data, k)[0]
        elif code == 0x54:
            value &= k
        else:
            at += yes if {0x15: value == k, 0x25: value > k, 0x45: bool(value & k)}[code] else no
