"""What ``nodes/record.py`` is: the files of a module have to be below the folder of the dataflow."""

from __future__ import annotations

import runpy
from pathlib import Path

runpy.run_path(str(Path(__file__).resolve().parents[2] / 'nodes' / 'record.py'), run_name='__main__')
