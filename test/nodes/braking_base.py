"""A base that uses the Node API: drives as commanded, and brakes when no command comes."""

from __future__ import annotations

import os

from marks import mark

from adora_ros import Node

WORDS = {'INPUT_CLOSED': 'brake', 'INPUT_RECOVERED': 'resume'}

mark('pid', os.getpid())
for event in Node():
    if event['type'] == 'INPUT':
        mark('drive')
    elif event['type'] in WORDS:
        mark(WORDS[event['type']])
