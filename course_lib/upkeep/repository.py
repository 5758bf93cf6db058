"""What git knows of the course: the version that a folder was made from, the newest one, and what differs."""

import os
import re
import shutil
import subprocess

STAMP = "course_lib/upkeep/commit.txt"  # git writes the commit into it when it packs a ZIP
NOBODY = ("-c", "user.name=start.py update", "-c", "user.email=update@localhost")
UNDER_WAY = {"MERGE_HEAD": "merge", "CHERRY_PICK_HEAD": "cherry-pick",
             "rebase-merge": "rebase", "rebase-apply": "rebase"}
ANEW = "into a new folder, and copy my_answers/ and your notebooks there"


class NoUpdate(Exception):
    """The course could not be brought up to date: one sentence says why, and what to do."""


class Repository:
    """A folder with the course in it, its base (what the learner began with) and its target (the newest version)."""

    def __init__(self, root):
        self.root = root
        self.index = root / ".update" / "index"  # beside the learner's own, which stays as it is
        self.address, self.ref = self._made_sure()
        self.head = self._git("rev-parse", "--verify", "-q", "HEAD", fails="").strip()
        self.depth = () if self.head else ("--depth=1",)  # a folder out of a ZIP needs no history
        self.target = self._fetched(self.ref)
        common = self.head and self._git("merge-base", self.head, self.target, fails="").strip()
        self.stamped = set()  # what a ZIP has otherwise than git
        self.base = common or self._began_with()

    def theirs(self):
        """What the authors have changed: {path: "A" added, "M" changed, "D" deleted}."""
        words = self._git("diff", "--no-renames", "--name-status", "-z", self.base, self.target).split("\0")
        return dict.fromkeys(self.stamped, "M") | dict(zip(words[1::2], words[0:-1:2], strict=True))

    def mine(self):
        """The files of the base that are other ones in the folder now, or gone."""
        self._git("read-tree", self.base, index=True)
        self._git("update-index", "-q", "--refresh", index=True, fails="")
        paths = self._git("diff-files", "--name-only", "-z", index=True).split("\0")[:-1]
        return set(paths) - self.stamped

    def write_out(self, version, paths, folder):
        """Write files of a version below a folder inside the root, with this machine's line ends."""
        self._git("read-tree", version, index=True)
        self._git("checkout-index", f"--prefix={folder.relative_to(self.root).as_posix()}/", "-z", "--stdin",
                  index=True, stdin="".join(f"{path}\0" for path in paths))

    def move_on(self):
        """Make the target what the folder was made from. What the learner has committed stays in the history."""
        after = self.target
        if self.head and self.base != self.head:
            own = self._git("diff", "--no-renames", "--name-only", "-z", self.base, self.head)
            self._git("read-tree", self.target, index=True)
            self._git("update-index", "--add", "--remove", "-z", "--stdin", index=True, stdin=own)
            tree = self._git("write-tree", index=True).strip()
            after = self._git(*NOBODY, "commit-tree", tree, "-p", self.head, "-p", self.target, "-m",
                              "The newest version of the course, with what is mine").strip()
        self._git("reset", "-q", "--mixed", after)

    def _made_sure(self):
        """(where new versions come from, which of them); a folder out of a ZIP becomes a repository first."""
        if not (self.root / ".git").exists():
            if outer := self._git("rev-parse", "--show-toplevel", fails="").strip():
                raise NoUpdate(f"this folder lies inside another repository of git ({outer}): move it out of there, "
                               "and run the same command again")
            if (self.root / "handout.json").exists():
                raise NoUpdate("this folder is a hand-out: its newer versions come from your instructor")
            self._git("init", "-q")
            self._git("remote", "add", "origin", self._of_versions("SOURCE"))
        for name, what in UNDER_WAY.items():
            if self._path_of_git(name).exists():
                raise NoUpdate(f"a {what} of git is under way in this folder: finish it, or undo it with `git {what} "
                               "--abort`, and run the same command again")
        if (lock := self._path_of_git("index.lock")).exists():
            raise NoUpdate("git is at work in this folder, or was stopped there: wait for it, or delete "
                           f"{lock} if none is running, and run the same command again")
        return self._origin()

    def _origin(self):
        branch = self._git("symbolic-ref", "-q", "--short", "HEAD", fails="").strip()
        remote, ref = (self._git("config", f"branch.{branch}.{key}", fails="").strip() for key in ("remote", "merge"))
        remotes = self._git("remote").split()
        if remote in remotes:
            return remote, ref or "HEAD"
        if "origin" in remotes:
            return "origin", "HEAD"
        raise NoUpdate("this folder does not know where new versions come from: tell it with `git remote add origin "
                       f"{self._of_versions('SOURCE')}`, and run the same command again")

    def url(self):
        """Where new versions come from, as a person would say it."""
        return self._git("remote", "get-url", self.address, fails=self.address).strip()

    def _fetched(self, what):
        said = self._git("fetch", "-q", *self.depth, self.address, what, fails=None)
        if said is None and what != "HEAD":  # a branch that is no longer there
            said = self._git("fetch", "-q", *self.depth, self.address, "HEAD", fails=None)
        if said is None:
            raise NoUpdate(f"nothing can be fetched from {self.url()}: check the connection to the internet; if the "
                           "course lies elsewhere now, `git remote set-url "
                           f"{self.address} ADDRESS` tells where; then run the same command again")
        return self._git("rev-parse", "FETCH_HEAD").strip()

    def _began_with(self):
        """The version that a folder out of a ZIP holds."""
        stamp = self.root / STAMP
        stamped = stamp.read_text(encoding="utf-8").strip() if stamp.exists() else ""
        tag = f"refs/tags/v{self._of_versions('VERSION')}"
        self.stamped = {STAMP} if re.fullmatch(r"[0-9a-f]{40,64}", stamped) else set()
        for what in [stamped] * len(self.stamped) + [tag]:
            if self._git("fetch", "-q", *self.depth, self.address, what, fails=None) is not None:
                return self._git("rev-parse", "FETCH_HEAD^{commit}").strip()
        raise NoUpdate("it is not known which version of the course this folder was made from: get the newest one from "
                       f"{self.url()} {ANEW}")

    def _of_versions(self, name):
        text = (self.root / "course_lib" / "upkeep" / "versions.py").read_text(encoding="utf-8")
        return re.search(rf'^{name} = "(.+?)"', text, re.M)[1]

    def _path_of_git(self, name):
        return self.root / self._git("rev-parse", "--git-path", name).strip()

    def _git(self, *command, index=False, stdin=None, fails="raises"):
        """What git says; where it cannot do it, `fails` or, without that, NoUpdate."""
        env = {**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
        if index:
            self.index.parent.mkdir(exist_ok=True)
            env["GIT_INDEX_FILE"] = str(self.index)
        try:
            done = subprocess.run(["git", *command], cwd=self.root, capture_output=True, text=True, encoding="utf-8",
                                  errors="surrogateescape", input=stdin or "", env=env)
        except FileNotFoundError:
            raise NoUpdate("git is not installed: install it (https://git-scm.com), and run the same command again"
                           ) from None
        if not done.returncode:
            return done.stdout
        if sentence := self._known(done.stderr):
            raise NoUpdate(sentence)
        if fails != "raises":
            return fails
        raise NoUpdate(f"git could not do its part (`git {command[0]}`): if it fails "
                       f"again, get the course {ANEW}")

    def _known(self, said):
        """A sentence for what stops git wherever it happens."""
        if "dubious ownership" in said:
            return f"{self.root} belongs to another user of this machine: copy the course to a folder of your own"
        if "No space left" in said or "Disk quota" in said or shutil.disk_usage(self.root).free < 2**20:
            return f"the disk under {self.root} is full: make room, and run the same command again"
        if "Permission denied" in said and "publickey" not in said or "Read-only file system" in said:
            return f"{self.root} cannot be written: copy the course to a folder of your own, and run the command there"
        return ""
