"""Makes .venv ready to run (``runtime``) or to develop (``dev``) this package, and only when it is not ready yet.

``jazzy`` makes .venv-jazzy ready to test it on ROS 2 Jazzy, from wheels whatever the machine has.

Needs nothing but the standard library and asks nothing. ROS 2 is taken from the machine where the base Python can
import rclpy, otherwise from wheels. A set-up that was cut short is started afresh by the next one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from setup_plan import (
    DEV,
    EXPECTED_PACKAGES,
    JAZZY,
    REQUIREMENTS,
    ROS_REQUIREMENTS,
    RUNTIME,
    VENVS,
    Progress,
    State,
    decide,
    diagnosis,
    digests,
    identity_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
STATE_NAME = 'adora-setup.json'
LOG_NAME = 'adora-setup.log'

NEWEST_PYTHON_WITH_WHEELS = (3, 14)

REPORT_PERIOD = 3.0
"""Seconds between two progress lines where the output is not a terminal."""

ROS_CHECK = (
    'import rclpy.lifecycle, std_msgs.msg, std_srvs.srv, lifecycle_msgs.srv, diagnostic_msgs.msg, '
    'rcl_interfaces.srv, sensor_msgs.msg, geometry_msgs.msg'
)

WHEEL_FOLDER = Path('/usr/share/python-wheels')
"""Where Debian's python3-pip-whl has pip as a wheel."""

VENV_HINT = (
    'cannot make a virtual environment with pip in it; as root, run `apt-get install python3-venv`, '
    'then give the command again'
)
EXIT_FAILED = 1
EXIT_UNSUPPORTED = 2
EXIT_INTERRUPTED = 130


class SetupError(RuntimeError):
    """The set-up cannot go on; the text is one line for the user."""

    def __init__(self, message: str, code: int = EXIT_FAILED) -> None:
        super().__init__(message)
        self.code = code


def host_rclpy() -> str | None:
    """Return where this Python would import rclpy from, None if it cannot."""
    spec = importlib.util.find_spec('rclpy')
    return spec.origin if spec is not None else None


def read_state(venv: Path) -> State | None:
    """Return what the last set-up wrote, None if it is not readable or its interpreter is gone."""
    try:
        state = State(**json.loads((venv / STATE_NAME).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return state if (venv / 'bin' / 'python').exists() or not state.complete else None


def write_state(venv: Path, state: State) -> None:
    """Write ``state`` so that a reader sees the old one or the new one."""
    draft = venv / f'{STATE_NAME}.new'
    draft.write_text(json.dumps(dataclasses.asdict(state), indent=2) + '\n')
    draft.replace(venv / STATE_NAME)


def empty(venv: Path) -> None:
    """Remove what an earlier set-up left in ``venv``; the folder stays, it may be a link or a mount.

    Raises:
        SetupError: There is something in it that no set-up of this project made.

    """
    if venv.is_dir() and any(venv.iterdir()) and not (venv / STATE_NAME).is_file():
        msg = f'{venv} was not made by this set-up; move it away, then give the command again'
        raise SetupError(msg, EXIT_UNSUPPORTED)
    venv.mkdir(parents=True, exist_ok=True)
    entries = sorted(venv.iterdir(), key=lambda entry: entry.name == STATE_NAME)
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def say(text: str) -> None:
    """Print one line of progress at once."""
    print(f'set-up: {text}', flush=True)


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for the programs of the set-up: no question, no other virtual environment, no user site.

    What the Python of another environment with ROS 2 wheels started inherits a library path that is wrong here.
    """
    clean = dict(environment)
    if clean.pop('_ROS_WHEELS_BOOTSTRAP_COMPLETE', None):
        clean.pop('LD_LIBRARY_PATH', None)
    for name in ('PIP_TARGET', 'PIP_PREFIX', 'PIP_ROOT', 'PIP_REQUIREMENT', 'PYTHONHOME', 'VIRTUAL_ENV'):
        clean.pop(name, None)
    clean.update(PIP_USER='0', PIP_NO_INPUT='1', PIP_DISABLE_PIP_VERSION_CHECK='1', PIP_REQUIRE_VIRTUALENV='0')
    clean.setdefault('PIP_RETRIES', '3')
    return clean


class Installer:
    """Fills one virtual environment."""

    def __init__(self, root: Path, venv: Path, lock: int) -> None:
        self._root = root
        self._venv = venv
        self._lock = lock
        self._environment = clean_environment(os.environ)
        self._python = str(venv / 'bin' / 'python')

    def create(self, *, system_site: bool) -> None:
        """Make the virtual environment, with pip in it.

        Raises:
            SetupError: It cannot be made, or there is no way to get pip into it.

        """
        say(f'creating {self._venv.name} with Python {sys.version.split()[0]}')
        command = [sys.executable, '-m', 'venv', *(['--system-site-packages'] if system_site else [])]
        if self._quietly([sys.executable, '-c', 'import ensurepip; ensurepip.version()']):
            if not self._quietly([*command, str(self._venv)]):
                msg = f'`{" ".join(command)} {self._venv}` failed; give that command to see why'
                raise SetupError(msg)
            return
        say('this Python has no ensurepip; looking for pip elsewhere')
        if not self._quietly([*command, '--without-pip', str(self._venv)]):
            raise SetupError(VENV_HINT, EXIT_UNSUPPORTED)
        if not (self._pip_from_host() or self._pip_from_wheel(WHEEL_FOLDER) or self._pip_from_debian()):
            raise SetupError(VENV_HINT, EXIT_UNSUPPORTED)

    def ros_works(self) -> bool:
        """Tell whether the environment can import ROS 2 as it is."""
        return self._quietly([self._python, '-c', ROS_CHECK])

    def install(self, wanted: str, *, wheels: bool) -> None:
        """Install a set of requirements and, so that edits count at once, a link to the package.

        Raises:
            SetupError: pip failed.

        """
        files = [*REQUIREMENTS[wanted], *([ROS_REQUIREMENTS[wanted]] if wheels else [])]
        arguments = [part for name in files for part in ('-r', str(self._root / 'requirements' / name))]
        self._pip(arguments, Progress(EXPECTED_PACKAGES[wanted, wheels]))
        say('installing the package itself')
        self._pip(['--no-deps', '--no-build-isolation', '-e', str(self._root)], None)

    def _pip_from_host(self) -> bool:
        site = self._venv / 'lib' / f'python{sys.version_info[0]}.{sys.version_info[1]}' / 'site-packages'
        return self._quietly([sys.executable, '-m', 'pip', 'install', '--target', str(site), 'pip'])

    def _pip_from_wheel(self, folder: Path) -> bool:
        arguments = ['install', '--no-index', '--find-links', str(folder), 'pip']
        wheels = sorted(folder.glob('pip-*.whl'))
        return any(self._quietly([self._python, f'{wheel}/pip', *arguments]) for wheel in reversed(wheels))

    def _pip_from_debian(self) -> bool:
        """Fetch Debian's package of pip, which needs no root, and unpack it into a temporary folder."""
        if not (shutil.which('apt-get') and shutil.which('dpkg-deb')):
            return False
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for place in ('lists/partial', 'cache/archives/partial'):
                (folder / place).mkdir(parents=True)
            own = ['apt-get', '-qq', '-o', f'Dir::State::Lists={folder}/lists', '-o', f'Dir::Cache={folder}/cache']
            own += ['-o', 'Debug::NoLocking=1', '-o', 'APT::Sandbox::User=']
            download = ['download', 'python3-pip-whl']
            return (
                self._quietly(['apt-get', '-qq', *download], folder)
                or (self._quietly([*own, 'update'], folder) and self._quietly([*own, *download], folder))
            ) and any(
                self._quietly(['dpkg-deb', '-x', str(archive), name])
                and self._pip_from_wheel(folder / WHEEL_FOLDER.relative_to('/'))
                for archive in folder.glob('*.deb')
            )

    def _quietly(self, command: Sequence[str], folder: Path | None = None) -> bool:
        done = subprocess.run(
            command,
            cwd=folder or self._root,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            pass_fds=[self._lock],
            check=False,
        )
        return done.returncode == 0

    def _pip(self, arguments: Sequence[str], progress: Progress | None) -> None:
        bar = progress is not None and sys.stdout.isatty()
        command = [self._python, '-m', 'pip', 'install', *([] if bar else ['--progress-bar', 'off']), *arguments]
        with (self._venv / LOG_NAME).open('a') as log:
            log.write(f'$ {" ".join(command)}\n')
            log.flush()
            with subprocess.Popen(
                command,
                cwd=self._root,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=None if bar else subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors='replace',
                pass_fds=[self._lock],
            ) as process:
                try:
                    output = _follow(process, progress)
                except BaseException:
                    process.terminate()
                    raise
            log.writelines(f'{line}\n' for line in output)
        if process.returncode:
            msg = f'pip could not install the packages: {diagnosis(output)} (log: {self._venv / LOG_NAME})'
            raise SetupError(msg)


def _follow(process: subprocess.Popen[str], progress: Progress | None) -> list[str]:
    """Collect the output of ``process`` until its end and report the progress every few seconds."""
    output: list[str] = []

    def read(stream: Iterator[str], *, counts: bool) -> None:
        for line in stream:
            output.append(line.rstrip('\n'))
            if counts and progress is not None:
                progress.feed(line)

    streams = [(process.stdout, True), (process.stderr, False)]
    readers = [
        threading.Thread(target=read, args=(stream,), kwargs={'counts': counts}, daemon=True)
        for stream, counts in streams
        if stream is not None
    ]
    for reader in readers:
        reader.start()
    said = ''
    while process.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(REPORT_PERIOD)
        if progress is not None and process.stdout is not None and said != str(progress):
            said = str(progress)
            say(said)
    for reader in readers:
        reader.join(REPORT_PERIOD)
    return output


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[int]:
    """Let one set-up at a time work in ``folder``; pip inherits the lock, so that it outlives a killed set-up."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say('waiting for another set-up to end')
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def build(root: Path, venv: Path, wanted: str, lock: int) -> None:
    """Do what :func:`decide` finds missing.

    Raises:
        SetupError: It cannot be done.

    """
    started = time.monotonic()
    host = host_rclpy() if wanted != JAZZY else None
    identity, digest = identity_of(root, host), digests(root)
    state = read_state(venv)
    plan = decide(state, identity, wanted, digest[wanted])
    installer = Installer(root, venv, lock)
    wheels = state.wheels if state is not None else True
    if plan.recreate:
        empty(venv)
        write_state(venv, State(identity))
        wheels = not _create(installer, venv, identity, host)
    if plan.install:
        write_state(venv, State(identity, wheels=wheels))
        installer.install(wanted, wheels=wheels)
        installed = {name: digest[name] for name in ({RUNTIME, DEV} if wanted == DEV else {wanted})}
        write_state(venv, State(identity, installed, complete=True, wheels=wheels))
        say(f'done in {time.monotonic() - started:.0f} s')


def _create(installer: Installer, venv: Path, identity: str, host: str | None) -> bool:
    """Create the environment and tell whether it uses the ROS 2 of the machine."""
    if host is not None:
        installer.create(system_site=True)
        if installer.ros_works():
            say(f'using the ROS 2 of this machine ({Path(host).parent})')
            return True
        say(f'the ROS 2 of this machine ({Path(host).parent}) cannot be imported completely')
        empty(venv)
        write_state(venv, State(identity))
    if sys.version_info[:2] > NEWEST_PYTHON_WITH_WHEELS:
        newest = '.'.join(str(part) for part in NEWEST_PYTHON_WITH_WHEELS)
        msg = f'ROS 2 has no wheels for Python {sys.version.split()[0]}; set PYTHON to one from 3.10 to {newest}'
        raise SetupError(msg, EXIT_UNSUPPORTED)
    say('ROS 2 comes as wheels (about 120 MB to download, once)')
    installer.create(system_site=False)
    return False


def _use_base_python() -> None:
    """Go on in the Python that an activated virtual environment was made from: .venv must not depend on another."""
    base = getattr(sys, '_base_executable', sys.executable)
    if sys.prefix != sys.base_prefix and base != sys.executable:
        os.execve(base, [base, *sys.argv], clean_environment(os.environ))  # noqa: S606 - no shell wanted


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def main(arguments: Sequence[str]) -> int:
    """Run the set-up and return the exit code: 0 ready, 1 failed, 2 not possible on this machine, 130 interrupted."""
    if len(arguments) != 1 or arguments[0] not in REQUIREMENTS:
        print(f'usage: bootstrap.py {"|".join(REQUIREMENTS)}', file=sys.stderr)
        return EXIT_UNSUPPORTED
    _use_base_python()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with locked(ROOT) as lock:
            build(ROOT, ROOT / VENVS[arguments[0]], arguments[0], lock)
    except SetupError as error:
        print(f'set-up: error: {error}', file=sys.stderr)
        return error.code
    except OSError as error:
        print(f'set-up: error: {error}', file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        print('set-up: interrupted; the next one starts afresh', file=sys.stderr)
        return EXIT_INTERRUPTED
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
