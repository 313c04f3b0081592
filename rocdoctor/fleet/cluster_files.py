"""Files for Kubernetes: a manifest that records nodes and judges them, and labels by Node Feature Discovery. Pure.

Kubernetes: API fields as kubernetes-validate has them (1.28 to 1.37), client-go rest/config.go (a pod finds the API
server by two variables and its account's token), https://kubernetes.io/docs/concepts/workloads/controllers/daemonset.
NFD: kubernetes-sigs/node-feature-discovery docs/usage/customization-guide.md, source/local/local.go (a directive holds
for the lines after it; a file without a date never ends; hidden files are passed over), pkg/apis/nfd/validate (which
keys and values are taken). All read 2026-11-29.
"""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.model.lazy_re import regex
from rocdoctor.model.shell_command import fits, shell
from rocdoctor.train.emit.files import File
from rocdoctor.train.emit.targets.kubernetes import quoted

_IMAGE = regex(r"[a-z0-9][A-Za-z0-9._:/@-]{0,254}")
_NFD_PLACE = "/etc/kubernetes/node-feature-discovery"


def kubernetes_files(program: str, records: str, image: str) -> Sequence[File]:
    """The manifest of a site. ``program`` lies in the image; ValueError for what is no image or folder."""
    if not _IMAGE.fullmatch(image):
        what = f"{image!r} is no image; " if image else ""
        raise ValueError(f"{what}k8s takes --image: a container image with rocdoctor and kubectl in it")
    if ":" in records or not fits(records, "path"):
        raise ValueError(f"{records!r} cannot be mounted: Kubernetes takes no colon in a path")
    where = shell("rocdoctor={program:path}\nrecords={records:path}", program=program, records=records)
    words = (
        ("RECORD", _block(14, where, _RECORD)),
        ("JUDGE", _block(18, where, _JUDGE)),
        ("FOLDER", quoted(records)),
        ("IMAGE", quoted(image)),
    )
    text = _MANIFEST
    for name, word in words:
        text = text.replace(f"@{name}@", word)
    return (File("rocdoctor-fleet.yaml", text),)


def nfd_files(program: str) -> Sequence[File]:
    """What labels a node by what the gate says."""
    script = _NFD_SCRIPT.replace("PROGRAM", shell("rocdoctor={program:path}", program=program))
    return File("rocdoctor-nfd.sh", script, True), File("rocdoctor-nfd.conf", _NFD_CONF)


def _block(indent: int, *parts: str) -> str:
    """A script as a block of YAML; Kubernetes fills $(NAME) in, and twice the sign keeps it."""
    lines = "\n".join(parts).rstrip("\n").replace("$(", "$$(").split("\n")
    return "\n".join(f"{' ' * indent}{line}" for line in lines).lstrip()


# As the HealthCheckProgram of Slurm: first on the node itself, for the gate, then for the fleet, whole or not at all.
_RECORD = """\
trap 'exit 0' TERM
while :; do
    if timeout --kill-after=5 120 "$rocdoctor" record --out /run/rocdoctor --node "$NODE_NAME" --quiet; then
        new=$records/.$NODE_NAME.new # a new file, never what a link leads to that another node put there
        timeout --kill-after=1 5 rm -f -- "$new" &&
            timeout --kill-after=1 5 dd "if=/run/rocdoctor/$NODE_NAME.json" "of=$new" conv=excl status=none &&
            timeout --kill-after=1 5 mv -fT -- "$new" "$records/$NODE_NAME.json"
    fi
    sleep 300 &
    wait "$!"
done
"""

_JUDGE = """\
"$rocdoctor" fleet tick /store/fleet "$records"
[ "$?" -le 1 ] || exit 1
"$rocdoctor" fleet apply /store/fleet --on k8s
"""

_MANIFEST = """\
# Written by rocdoctor, for `kubectl apply -f`. Every node records itself each five minutes, and one job judges the
# records. The job only prints what it would do: add --yes behind `--on k8s` below when you trust it.
#
# The image is yours: it needs rocdoctor, kubectl, a shell and GNU coreutils. What rocdoctor says of packages and of
# the system's release is then that of the image. The folder of the records is one that all nodes share.
apiVersion: v1
kind: Namespace
metadata:
  name: rocdoctor
  labels:
    pod-security.kubernetes.io/enforce: privileged
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: rocdoctor-fleet
  namespace: rocdoctor
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: rocdoctor-fleet
rules:
  - apiGroups: [""]
    resources: [nodes]
    verbs: [get, list, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: rocdoctor-fleet
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: rocdoctor-fleet
subjects:
  - kind: ServiceAccount
    name: rocdoctor-fleet
    namespace: rocdoctor
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: rocdoctor-record
  namespace: rocdoctor
spec:
  selector:
    matchLabels:
      app: rocdoctor-record
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 10%
  template:
    metadata:
      labels:
        app: rocdoctor-record
    spec:
      # it has no right in the API
      automountServiceAccountToken: false
      nodeSelector:
        kubernetes.io/os: linux
      # also where we or others keep pods off: a node comes back only by a record
      tolerations:
        - operator: Exists
      # processes that hang on a GPU are those of the node
      hostPID: true
      containers:
        - name: record
          image: @IMAGE@
          command: [/bin/sh, -c]
          args:
            - |
              @RECORD@
          env:
            - name: NODE_NAME
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName
          # GPUs, their drivers' files and the kernel's log
          securityContext:
            privileged: true
          resources:
            requests:
              cpu: 50m
              memory: 256Mi
          volumeMounts:
            - name: here
              mountPath: /run/rocdoctor
            - name: records
              mountPath: @FOLDER@
      volumes:
        - name: here
          hostPath:
            path: /run/rocdoctor
            type: DirectoryOrCreate
        - name: records
          hostPath:
            path: @FOLDER@
            type: Directory
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: rocdoctor-fleet
  namespace: rocdoctor
spec:
  accessModes: [ReadWriteOnce]
  resources:
    requests:
      storage: 5Gi
---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: rocdoctor-fleet
  namespace: rocdoctor
spec:
  schedule: "*/5 * * * *"
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 120
  jobTemplate:
    spec:
      backoffLimit: 0
      activeDeadlineSeconds: 280
      template:
        spec:
          serviceAccountName: rocdoctor-fleet
          restartPolicy: Never
          nodeSelector:
            kubernetes.io/os: linux
          containers:
            - name: judge
              image: @IMAGE@
              command: [/bin/sh, -c]
              args:
                - |
                  @JUDGE@
              securityContext:
                allowPrivilegeEscalation: false
                capabilities:
                  drop: [ALL]
                seccompProfile:
                  type: RuntimeDefault
              volumeMounts:
                - name: store
                  mountPath: /store
                - name: records
                  mountPath: @FOLDER@
                  readOnly: true
          volumes:
            - name: store
              persistentVolumeClaim:
                claimName: rocdoctor-fleet
            - name: records
              hostPath:
                path: @FOLDER@
                type: Directory
"""

_NFD_SCRIPT = f"""\
#!/bin/sh
# Written by rocdoctor: the label rocdoctor/gate of this node (open, closed or unknown), as a feature file of Node
# Feature Discovery. It ends after 15 minutes without a new record. It taints nothing: `rocdoctor fleet apply` does.
PROGRAM
folder={_NFD_PLACE}/features.d
said=$(timeout --kill-after=1 4 "$rocdoctor" gate --record /run/rocdoctor 2>/dev/null)
case "$said" in
closed:*) gate=closed ;;
"open: "*) gate=open ;;
*) gate=unknown ;;
esac
ends=$(date -u -d '+15 minutes' +%Y-%m-%dT%H:%M:%SZ) || exit 0
new=$folder/.rocdoctor.new # NFD passes over hidden files
rm -f -- "$new" &&
    printf '# +expiry-time=%s\\nrocdoctor/gate=%s\\n' "$ends" "$gate" >"$new" &&
    chmod 644 "$new" &&
    mv -fT -- "$new" "$folder/rocdoctor"
exit 0
"""

_NFD_CONF = f"""\
# Written by rocdoctor: after each record, the label of this node. It belongs in
# /etc/systemd/system/rocdoctor-record.service.d/, alongside the files of `rocdoctor fleet emit systemd`. The script
# belongs at the path below and must be executable.
[Service]
ExecStartPost=-{_NFD_PLACE}/rocdoctor-nfd.sh
"""
