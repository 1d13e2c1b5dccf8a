"""A camera: sends a picture at every tick, and can lose its device.

``CRASH_AFTER`` has one number for each incarnation that is going to crash: after how many frames. The incarnation after
these takes ``FRAMES`` frames and ends well.
"""

from __future__ import annotations

import os

from adora_ros import Node

WIDTH = 64
HEIGHT = 48
BRIGHT = 255


def picture(number: int) -> bytes:
    """Return a dark picture, one byte a pixel, with one bright pixel that moves."""
    pixels = bytearray(WIDTH * HEIGHT)
    pixels[number % HEIGHT * WIDTH + number % WIDTH] = BRIGHT
    return bytes(pixels)


def main() -> None:
    """Send pictures until the device is lost or enough are taken.

    Raises:
        OSError: the device is lost.

    """
    node = Node()
    lives = [int(frames) for frames in os.environ.get('CRASH_AFTER', '').split()]
    will_crash = node.restart_count() < len(lives)
    frames = lives[node.restart_count()] if will_crash else int(os.environ.get('FRAMES', '0'))
    sent = 0
    for event in node:
        if event['type'] != 'INPUT':
            continue
        node.send_output('image', picture(sent), {'width': WIDTH, 'height': HEIGHT, 'number': sent})
        sent += 1
        if sent == frames:
            if will_crash:
                msg = 'the camera is gone from the USB port'
                raise OSError(msg)
            break


if __name__ == '__main__':
    main()
