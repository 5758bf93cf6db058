"""Bring the course up to date and lose nothing of a learner's: python3 start.py update.

What only the learner has changed stays as it is. What its authors have changed as well is copied to my_work/ first;
then the new one takes its place, in a lesson with the learner's answers and cells in it. All of it happens, or none.

It runs before there is an environment, on the standard library alone.
"""

import errno
import json
import os
import shutil
import sys
from pathlib import Path

from .carrying import carry, follow
from .open_notebooks import open_notebooks
from .repository import NoUpdate, Repository

ROOT = Path(__file__).resolve().parents[2]
AS_IT_WAS = "Everything is as it was."
ALREADY = "This is the newest version already ({})."


def main(root=ROOT):
    """Update, and say what was done; exit status 1 where it could not be done."""
    try:
        lines = update(root)
    except NoUpdate as error:
        lines = [f"update: {error}. {AS_IT_WAS}"]
    except OSError as error:
        lines = [f"update: {_explained(error, root)}. {AS_IT_WAS}"]
    except KeyboardInterrupt:
        lines = [f"update: stopped. {AS_IT_WAS}"]
    else:
        print("\n".join(lines))
        return 0
    print(lines[0], file=sys.stderr)
    return 1


def update(root):
    """Bring the newest version under the learner's work; returns the sentences that say what was done."""
    scratch = root / ".update"  # on the same disk: what is moved from there cannot fail for want of room
    _undo(scratch / "old", root)  # an update was killed here
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        course = Repository(root)
        theirs, mine = course.theirs(), course.mine()
        kept = sorted(mine - set(theirs))
        says = [f"As you left them: {', '.join(kept)}."] if kept else []
        if not theirs:
            return [*says, ALREADY.format(course.url())]
        _refuse_what_is_in_use(root, theirs)
        course.write_out(course.target, [path for path in theirs if theirs[path] != "D"], scratch / "new")
        both = [path for path in sorted(theirs) if path in mine or theirs[path] == "A"]
        both = [path for path in both if _would_be_lost(root / path, scratch / "new" / path)]
        course.write_out(course.base, [p for p in both if _is_lesson(p) and theirs[p] == "M"], scratch / "base")
        says += [_keep_and_carry(path, root, scratch) for path in both]
        says += [_follow(path, root, scratch, theirs) for path in both if (scratch / "base" / path).exists()]
        _swap(root, scratch, theirs, course.move_on)
    finally:
        if not (scratch / "old").exists():
            shutil.rmtree(scratch, ignore_errors=True)
    if {"requirements.txt", "pyproject.toml"} & set(theirs):
        says.append("The packages that the course needs have changed, too: its next start fetches them.")
    if course.base == course.target:
        return [*says, ALREADY.format(course.url())]
    says = [line for line in says if line]
    return [*says, f"This is the newest version now ({course.url()}); CHANGELOG.md says what is new."]


def _refuse_what_is_in_use(root, theirs):
    """NoUpdate where a new file would come under an open notebook, or where a folder is in its way."""
    if in_use := sorted(open_notebooks(root) & set(theirs)):
        raise NoUpdate(f"{', '.join(in_use)} is open in Jupyter and may hold what is not saved yet: choose “Close and "
                       "Shut Down Notebook” in its File menu, and run the same command again")
    for path in theirs:
        if (root / path).is_dir():
            raise NoUpdate(f"the new version has a file {path} where you have a folder: give your folder another name, "
                           "and run the same command again")


def _would_be_lost(path, new):
    """Is there a file, and another one than the new?"""
    return path.is_file() and not (new.exists() and path.read_bytes() == new.read_bytes())


def _is_lesson(path):
    return path.startswith("lessons/") and path.endswith(".ipynb")


def _keep_and_carry(path, root, scratch):
    """Copy a file of the learner's to my_work/, and put what is theirs into the new one; says so."""
    copy = _copied(root / path, root / "my_work" / path).relative_to(root).as_posix()
    new, old = scratch / "new" / path, scratch / "base" / path
    if not new.exists():
        return f"{path} is no longer part of the course: yours is {copy}."
    if not old.exists():
        return f"{path} has been changed by its authors, too: the new one is in place, and yours is {copy}."
    try:
        notebook, mine, begun = (json.loads(p.read_text(encoding="utf-8")) for p in (new, root / path, old))
        done = carry(notebook, mine, begun)
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"{path} is new, and yours cannot be read as a notebook: it is {copy}, as it was."
    new.write_text(json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return f"{path}: the new one {done}. All of yours is {copy}."


def _follow(path, root, scratch, theirs):
    """Where exercises of a lesson have moved to another, the answers move along; says so, or nothing."""
    moved = []
    for other in sorted(set(filter(_is_lesson, theirs)) - {path}):
        files = [scratch / "new" / other, root / path, scratch / "base" / path, scratch / "new" / path]
        try:
            notebooks = [json.loads(file.read_text(encoding="utf-8")) for file in files]
            names = follow(*notebooks)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # one is gone, or torn: what was in it is kept
        if names:
            text = json.dumps(notebooks[0], ensure_ascii=False, indent=1, sort_keys=True)
            files[0].write_text(text + "\n", encoding="utf-8")
            moved.append(f"{other} has your answers to {', '.join(names)}, which have moved there from {path}.")
    return " ".join(moved)


def _copied(path, copy):
    """A copy that replaces no other one, whole or not at all."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    first, count = copy, 1
    while copy.exists() and copy.read_bytes() != path.read_bytes():
        count += 1
        copy = first.with_name(f"{first.stem}-{count}{first.suffix}")
    partial = copy.with_name(f"{copy.name}.partial")
    try:
        shutil.copy(path, partial)
        os.replace(partial, copy)
    finally:
        partial.unlink(missing_ok=True)
    return copy


def _swap(root, scratch, theirs, finish):
    """Put the new files where the old ones are, and let git know; all of it or nothing."""
    old, done = scratch / "old", scratch / "done"
    old.mkdir()
    try:
        for path, how in theirs.items():
            if os.path.lexists(root / path):
                (old / path).parent.mkdir(parents=True, exist_ok=True)
                os.replace(root / path, old / path)
            if how != "D":
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                os.replace(scratch / "new" / path, root / path)
        os.replace(old, done)  # if we are killed from here on, the next update finds nothing to put back
        finish()
    except BaseException:
        for path, how in theirs.items():
            if how != "D" and not os.path.lexists(scratch / "new" / path):
                (root / path).unlink(missing_ok=True)
        for moved in (old, done):
            _undo(moved, root)
        raise
    for path in theirs:
        _without_empty_folders((root / path).parent, root)


def _undo(old, root):
    """Put files back to where they were taken from."""
    for path in sorted(old.rglob("*")):
        if path.is_symlink() or path.is_file():
            (root / path.relative_to(old)).parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, root / path.relative_to(old))
    shutil.rmtree(old, ignore_errors=True)


def _without_empty_folders(folder, root):
    while folder != root and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _explained(error, root):
    """One sentence for what the machine refuses."""
    where = error.filename or root
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk under {root} is full: make room, and run the same command again"
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return f"{where} cannot be written: close the programs that use it, and see that it is yours to change"
    return f"{where}: {error.strerror or error}"


if __name__ == "__main__":
    sys.exit(main())
