"""Records what a loader does besides reading its file, and prevents it.

Python raises an audit event before it executes code, opens, imports, connects or
starts something. The hook notes the event and raises, so that neither this
machine nor the next input is touched.
"""
import os
import re
import sys

# Events that reading a file raises by itself and that change nothing: to compile
# is not to execute.
QUIET = {
    "compile",
    "object.__getattr__", "object.__setattr__", "object.__delattr__", "sys._getframe", "pickle.find_class", "array.__new__", "builtins.id",
    "code.__new__", "marshal.loads", "gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys.unraisablehook", "time.sleep",
    "mmap.__new__", "fcntl.fcntl", "fcntl.flock", "sys.excepthook", "tempfile.mkstemp", "ctypes.string_at", "ctypes.cdata",
}


# What an import could find; anything else is the name of nothing.
NAME = re.compile(r"\w[\w.]*")


class Blocked(BaseException):
    """An exception that a loader catches only if it catches everything."""


class Watch:
    """open: the one file that may be opened, for reading. effects: what else was tried."""

    def __init__(self):
        self.on, self.open, self.effects = False, None, []
        sys.addaudithook(self.hook)

    def hook(self, event, args):
        if not self.on or event in QUIET:
            return
        if event == "open" and self.reads(*args):
            return
        if event == "import" and not NAME.fullmatch(str(args[0])):
            raise ModuleNotFoundError(args[0])  # before Python looks into its folders for it
        self.on = False  # what follows is ours
        try:
            text = event + " " + ", ".join(str(a)[:60] for a in args[:2])
        except Exception:
            text = event
        self.effects.append(text.replace(self.open or "\0", "FILE")[:160])
        self.on = True
        raise Blocked(text)

    def reads(self, path, mode, flags):
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND):
            return False
        return isinstance(path, int) or os.fspath(path) == self.open

    def run(self, path, f):
        """Call f(path) with the hook on; effects lists what was tried."""
        self.open, self.effects, self.on = path, [], True
        try:
            return f(path)
        finally:
            self.on = False
