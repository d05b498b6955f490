# SPDX-License-Identifier: MIT
"""A Kubernetes manifest's pod as podman runs it: what the kubelet makes of a volume, and the
runtime of a security context, no more and no less."""
import os

import yaml

CURRENT = "..data"
# What the API server takes, of what is used here: it drops or refuses a name with a slip in it.
FIELDS = {
    "pod": {"serviceAccountName", "automountServiceAccountToken", "enableServiceLinks", "hostPID",
            "nodeSelector", "tolerations", "terminationGracePeriodSeconds", "securityContext",
            "initContainers", "containers", "volumes"},
    "pod.securityContext": {"fsGroup", "seccompProfile", "appArmorProfile"},
    "container": {"name", "image", "command", "args", "env", "securityContext", "livenessProbe",
                  "readinessProbe", "resources", "volumeMounts"},
    "container.securityContext": {"runAsUser", "runAsGroup", "runAsNonRoot", "capabilities",
                                  "allowPrivilegeEscalation", "readOnlyRootFilesystem"},
    "volume": {"name", "configMap", "secret", "hostPath", "emptyDir"},
    "mount": {"name", "mountPath", "readOnly"},
    "probe": {"exec", "initialDelaySeconds", "periodSeconds", "timeoutSeconds"},
}


class Manifest:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.documents = list(yaml.safe_load_all(f))

    def find(self, kind):
        return next(d for d in self.documents if d["kind"] == kind)

    def pod(self):
        return self.find("DaemonSet")["spec"]["template"]["spec"]

    def containers(self):
        return self.pod()["initContainers"] + self.pod()["containers"]

    def container(self, name):
        return next(c for c in self.containers() if c["name"] == name)

    def unknown_fields(self):
        """Those that FIELDS does not have."""
        pod = self.pod()
        parts = [("pod", pod), ("pod.securityContext", pod["securityContext"])]
        parts += [("volume", v) for v in pod["volumes"]]
        for c in self.containers():
            parts += [("container", c), ("container.securityContext", c["securityContext"])]
            parts += [("mount", v) for v in c["volumeMounts"]]
            parts += [("probe", v) for k, v in c.items() if k.endswith("Probe")]
        return [f"{kind}: {name}" for kind, part in parts for name in part
                if name not in FIELDS[kind]]


def make_folder(path, mode, group=0):
    os.makedirs(path, exist_ok=True)
    os.chown(path, 0, group)
    os.chmod(path, mode)
    return path


def project(folder, files, mode, group):
    """As the kubelet does, for the pod's @group: files lie in a folder that a link leads to, and are links themselves."""
    os.makedirs(os.path.join(folder, "..1"))
    os.symlink("..1", os.path.join(folder, CURRENT))
    for name, text in files.items():
        path = os.path.join(folder, "..1", name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chown(path, 0, group)
        os.chmod(path, mode)
        os.symlink(f"{CURRENT}/{name}", os.path.join(folder, name))
    return folder


class Volumes:
    """Of a pod, below @folder, where directories of the node lie, too. @secret: files by their names."""

    def __init__(self, manifest, folder, secret):
        pod = manifest.pod()
        group = pod["securityContext"].get("fsGroup", 0)
        self.paths = {}
        for volume in pod["volumes"]:
            name, place = volume["name"], os.path.join(folder, volume["name"])
            if "emptyDir" in volume:
                path = make_folder(place, 0o2777, group)
            elif "hostPath" in volume:
                path = make_folder(place, 0o755)
            else:
                config = "configMap" in volume
                files = manifest.find("ConfigMap")["data"] if config else secret
                mode = 0o644 if config else volume["secret"]["defaultMode"]
                path = project(place, files, mode, group)
            self.paths[name] = path


def options(manifest, container, volumes, fields, without=()):
    """Of podman run. @fields: values of the downward API; @without: capabilities that are left out."""
    pod, context = manifest.pod(), container["securityContext"]
    user = str(context["runAsUser"])
    if "runAsGroup" in context:
        user += f":{context['runAsGroup']}"
    made = [f"--user={user}", f"--group-add={pod['securityContext']['fsGroup']}"]
    made += [f"--cap-drop={c}" for c in context["capabilities"]["drop"]]
    made += [f"--cap-add={c}" for c in context["capabilities"].get("add", []) if c not in without]
    if pod.get("hostPID"):
        made.append("--pid=host")
    if not context.get("allowPrivilegeEscalation", True):
        made.append("--security-opt=no-new-privileges")
    if context.get("readOnlyRootFilesystem"):
        made += ["--read-only", "--read-only-tmpfs=false"]
    for variable in container.get("env", []):
        made.append(f"--env={variable['name']}={fields[variable['valueFrom']['fieldRef']['fieldPath']]}")
    for mount in container["volumeMounts"]:
        mode = "ro" if mount.get("readOnly") else "rw"
        made.append(f"--volume={volumes.paths[mount['name']]}:{mount['mountPath']}:{mode}")
    return made


def command(container, fields):
    """Of podman run: the image, and what it runs."""
    given = container.get("command", [])
    arguments = given[1:] + container.get("args", [])
    for variable in container.get("env", []):
        value = fields[variable["valueFrom"]["fieldRef"]["fieldPath"]]
        arguments = [a.replace(f"$({variable['name']})", value) for a in arguments]
    return [*([f"--entrypoint={given[0]}"] if given else []), container["image"], *arguments]
