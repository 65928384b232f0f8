"""Does a command, but the first time kills who asked for it: `kill_once.py FLAG COMMAND ...`."""

import os
import signal
import sys
from pathlib import Path

flag, *command = sys.argv[1:]
try:
    Path(flag).touch(exist_ok=False)
except FileExistsError:
    os.execvp(command[0], command)
os.kill(os.getppid(), signal.SIGKILL)
