"""The command and the template of students' processes come from one process, and the template knows nothing of it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from course_lib.staff.grade import origin, template

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the command begins anew on Linux alone")

BEGIN = "import sys\nfrom course_lib.staff.grade import origin\norigin.begin()\n"
TOKEN = "token-of-the-instructor-8161"
SEARCH = '''
import os, re
token, found = re.compile(rb"token-of-the-instr[u]ctor-[0-9]+"), 0  # so written that it does not find itself
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
    for line in maps:
        begin, end = (int(place, 16) for place in line.split()[0].split("-"))
        if line.split()[1].startswith("rw"):
            memory.seek(begin)
            found += len(token.findall(memory.read(end - begin)))
open("said", "w").write(str(found))
'''


@pytest.fixture
def begun(tmp_path):
    """Begins the command in a folder where `main` of another command.py stands for it; gives what it printed."""
    course = tmp_path / "course_lib" / "staff" / "grade"
    course.mkdir(parents=True)
    for package in (course, course.parent, course.parent.parent):
        (package / "__init__.py").touch()
    for module in (origin, template):
        shutil.copy(module.__file__, course)
    shutil.copytree(Path(origin.__file__).parent / "confine", course / "confine")

    def begin(main, *arguments, **environment):
        (course / "command.py").write_text(f"import os, sys\nfrom course_lib.staff.grade import template\n{main}")
        (tmp_path / "begin.py").write_text(BEGIN)
        return subprocess.run([sys.executable, "begin.py", *arguments], cwd=tmp_path, capture_output=True, text=True,
                              env=os.environ | environment | {"PYTHONPATH": str(tmp_path)}, timeout=60)

    return begin


def test_the_command_has_what_its_caller_had(begun):
    main = ("def main():\n    print(ascii(sys.argv[1:]), os.environ['A'], sys.path[0] == os.getcwd())\n"
            "    print(sys.stdout.encoding, 'torch' in sys.modules, file=sys.stderr)\n    return 7")
    done = begun(main, "--x", "ü", A="1", PYTHONIOENCODING="latin-1")
    assert (done.stdout, done.stderr) == ("['--x', '\\xfc'] 1 True\n", "iso8859-1 True\n")
    assert done.returncode == 7


@pytest.mark.parametrize("wish", ["", "1"])
def test_what_is_imported_is_compiled_once(begun, wish):
    """The clean environment's wish for no bytecode, and a torch that is compiled anew, which takes half a minute."""
    main = "def main():\n    print(sys.dont_write_bytecode)"
    assert begun(main, PYTHONDONTWRITEBYTECODE=wish).stdout == f"{bool(wish)}\n"


def test_a_template_remembers_nothing_of_the_caller(begun, tmp_path):
    (tmp_path / "search.py").write_text(SEARCH)
    main = ("def main():\n    t = template.take()\n    assert template.take() is None\n"
            "    assert t.run(['search.py'], {'PATH': ''}, os.getcwd(), [])\n    t.wait()")
    done = begun(main, TOKEN, TOKEN=TOKEN)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "said").read_text() == "0"


@pytest.mark.parametrize("how", ["return 0", "os.kill(os.getpid(), 9)"])
def test_a_template_ends_with_the_command(begun, how):
    done = begun(f"def main():\n    print(template._waiting[0].process, flush=True)\n    {how}")
    process = int(done.stdout)
    for _ in range(500):
        if not _runs(process):
            return
        time.sleep(0.01)
    os.kill(process, signal.SIGKILL)
    pytest.fail("it still runs after five seconds")


def test_a_template_that_has_died_is_noticed(begun):
    main = ("import signal\ndef main():\n    t = template.take()\n    t.kill()\n    t.wait()\n"
            "    print(t.run(['x.py'], {}, '.', []))")
    assert begun(main).stdout == "False\n"


def _runs(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
