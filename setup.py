"""Installs the package: by colcon as an ament_python package, by pip into a virtual environment."""

from __future__ import annotations

import os
from pathlib import Path

from setuptools import find_packages, setup

NAME = 'adora_ros'
SHARE = Path('share') / NAME


def share_tree(folder: str) -> list[tuple[str, list[str]]]:
    """Return ``data_files`` entries that install ``folder`` with its layout below ``share/adora_ros``."""
    entries = []
    for place, subfolders, names in os.walk(folder):
        subfolders[:] = sorted(name for name in subfolders if name != '__pycache__')
        files = [str(Path(place) / name) for name in sorted(names) if not name.startswith('.')]
        if files:
            entries.append((str(SHARE / place), files))
    return entries


setup(
    name=NAME,
    version='0.1.0',
    description='Fault-tolerant dataflows of supervised, lifecycle-managed ROS 2 nodes',
    author='adora_ros authors',
    maintainer='adora_ros maintainers',
    maintainer_email='adora-ros@example.com',
    license='Apache-2.0',
    python_requires='>=3.10',
    install_requires=['pyarrow', 'pydantic>=2.6,<3', 'PyYAML', 'rich', 'setuptools'],
    extras_require={'test': ['hypothesis', 'psutil', 'pytest', 'pytest-timeout']},
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    package_data={NAME: ['py.typed']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (str(SHARE), ['package.xml', *sorted(str(schema) for schema in Path('resource').glob('*.schema.json'))]),
        *share_tree('launch'),
        *share_tree('config'),
    ],
    zip_safe=True,
    entry_points={
        'console_scripts': [
            'adora = adora_ros.cli.main:main',
            'coordinator = adora_ros.cli.coordinator:main',
            'manager = adora_ros.cli.manager:main',
        ],
        'launch.frontend.launch_extension': ['adora_ros = adora_ros.launch'],
        'ros2cli.command': ['adora = adora_ros.cli.ros2:AdoraCommand'],
    },
)
