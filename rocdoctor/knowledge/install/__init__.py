"""What to install on which distribution for which GPU, from the tables ``install*.yaml``: one import for all of it.

Pure functions over facts; nothing is asked and nothing is run. ``Unknown`` or None means that no page that was read
answers; it never means that there is no way. A route that nobody supports says so and names the risk.
"""

from __future__ import annotations

from rocdoctor.knowledge.install.amd_drivers import (
    DriverRoute,
    Firmware,
    PackageStream,
    Route,
    Support,
    boot_notes,
    current_targets,
    driver_route,
    firmware_package,
    groups_step,
    override_of,
    secure_boot_steps,
    streams,
)
from rocdoctor.knowledge.install.distributions import Distribution, distribution, distributions
from rocdoctor.knowledge.install.kernel_settings import Change, initramfs, kernel_parameter, sysctl_setting
from rocdoctor.knowledge.install.nvidia_and_cluster import (
    NodeNeeds,
    Runtime,
    Targets,
    container_runtime,
    node_needs,
    nvidia_driver,
    toolkit_steps,
    training_targets,
)
from rocdoctor.knowledge.install.packages import gone_packages, package_exists
from rocdoctor.knowledge.install.routes import kind_of, rocm_route, rocm_routes
from rocdoctor.knowledge.install.steps import InstallStep, RepositoryHost, fill, hosts, missing_names, steps_of, weakest
from rocdoctor.knowledge.install.torch_wheels import (
    Companion,
    WheelIndex,
    companions,
    cpu_wheel,
    cuda_wheel,
    environment_steps,
    placeholder,
    wheel,
    wheels,
)

__all__ = [
    "Change",
    "Companion",
    "Distribution",
    "DriverRoute",
    "Firmware",
    "InstallStep",
    "NodeNeeds",
    "PackageStream",
    "RepositoryHost",
    "Route",
    "Runtime",
    "Support",
    "Targets",
    "WheelIndex",
    "boot_notes",
    "companions",
    "container_runtime",
    "cpu_wheel",
    "cuda_wheel",
    "current_targets",
    "distribution",
    "distributions",
    "driver_route",
    "environment_steps",
    "fill",
    "firmware_package",
    "gone_packages",
    "groups_step",
    "hosts",
    "initramfs",
    "kernel_parameter",
    "kind_of",
    "missing_names",
    "node_needs",
    "nvidia_driver",
    "override_of",
    "package_exists",
    "placeholder",
    "rocm_route",
    "rocm_routes",
    "secure_boot_steps",
    "steps_of",
    "streams",
    "sysctl_setting",
    "toolkit_steps",
    "training_targets",
    "weakest",
    "wheel",
    "wheels",
]
