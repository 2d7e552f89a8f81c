package e2e

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestContent has a pod whose init containers leave what they see: volumes of each kind, hosts file, resolver
// configuration, host name, environment.
func TestContent(t *testing.T) {
	n := newNode(t)
	if err := os.MkdirAll(filepath.Join(n.scratch, "host/sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(n.scratch, "host/file"), []byte("from the host"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := n.start()
	n.put("content.yaml", content)
	a.ready("content")
	status := a.phase("content", "Running")
	uid := n.sandboxes("content")[0].Labels[labelUID]
	name := n.pod("content")
	for file, want := range map[string]string{
		"hostname":  "cont",
		"resolv":    "search lab.test\nnameserver 192.0.2.1\noptions ndots:2",
		"env-plain": "a",
		"env":       "a-a $(A) $(NOPE)",
		"env-name":  name,
		"env-ip":    status.IP,
		"env-cpu":   strconv.Itoa(runtime.NumCPU()), // no limit: all that the node has
		"labels":    "app=\"shop\"\ntier=\"back\"",
		"anno":      "note=\"hello\"", // checked as a part: the kubelet adds its own
		"limit":     "32",
		"proj":      "default",
		"shared":    "a wrote this",
		"memory":    "in memory tmpfs",
		"subpath":   "below sub",
		"hostfile":  "from the host",
		"made":      "directory",
		"uid":       uid,
	} {
		got := n.read("out-" + file)
		if file == "anno" {
			if !strings.Contains(got, want) {
				t.Errorf("annotations %q do not have %q", got, want)
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
	hosts := n.read("out-hosts")
	for _, line := range []string{status.IP + "\tcont", "192.0.2.7\tone.test\ttwo.test"} {
		if !strings.Contains(hosts, line) {
			t.Errorf("hosts file has no line %q:\n%s", line, hosts)
		}
	}
	if text, err := os.ReadFile(filepath.Join(n.scratch, "host/sub/written")); err != nil || string(text) != "by the pod\n" {
		t.Errorf("what the pod wrote through subPath: %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(n.scratch, "new-dir")); err != nil {
		t.Error(err)
	}

	// A memory volume is a mount of the pod's; it goes with the pod and not before.
	if got := n.mounts(n.root); len(got) == 0 {
		t.Error("nothing is mounted for a pod with a memory volume")
	}
	n.drop("content.yaml")
	a.gone("content")
	if got := n.mounts(n.root); len(got) != 0 {
		t.Errorf("mounts after the pod was gone: %v", got)
	}
}

// TestHostPathTypes asks for paths that are not of their type.
func TestHostPathTypes(t *testing.T) {
	n := newNode(t)
	a := n.start()
	for _, c := range []struct{ name, path, typ, want string }{
		{"missing", "$DIR/none", "Directory", "is not a directory"},
		{"dir-as-file", "$DIR", "File", "is not a file, it's a Directory"},
		{"file-as-socket", "/etc/passwd", "Socket", "is not a socket file, it's a File"},
	} {
		n.put(c.name+".yaml", strings.NewReplacer("NAME", c.name, "PATH", c.path, "TYPE", c.typ).Replace(`
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 0
  volumes: [{name: v, hostPath: {path: PATH, type: TYPE}}]
  containers: [{name: main, image: $BUSYBOX, command: $WAIT, volumeMounts: [{name: v, mountPath: /v}]}]
`))
		if e := a.event(c.name, "FailedMount"); !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: message %q does not say %q", c.name, e.Message, c.want)
		}
	}
	// Once the path is right the pod starts.
	if err := os.Mkdir(filepath.Join(n.scratch, "none"), 0o755); err != nil {
		t.Fatal(err)
	}
	a.ready("missing")
}

const content = `
apiVersion: v1
kind: Pod
metadata: {name: content, labels: {app: shop, tier: back}, annotations: {note: hello}}
spec:
  terminationGracePeriodSeconds: 0
  hostname: cont
  hostAliases: [{ip: 192.0.2.7, hostnames: [one.test, two.test]}]
  dnsPolicy: None
  dnsConfig: {nameservers: [192.0.2.1], searches: [lab.test], options: [{name: ndots, value: '2'}]}
  volumes:
  - {name: out, hostPath: {path: $DIR, type: Directory}}
  - {name: file, hostPath: {path: $DIR/host/file, type: File}}
  - {name: made, hostPath: {path: $DIR/new-dir, type: DirectoryOrCreate}}
  - {name: disk, emptyDir: {}}
  - {name: mem, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
  - name: down
    downwardAPI:
      items:
      - {path: labels, fieldRef: {fieldPath: metadata.labels}}
      - {path: anno, fieldRef: {fieldPath: metadata.annotations}}
      - {path: limit, resourceFieldRef: {containerName: c, resource: limits.memory, divisor: 1Mi}}
  - name: proj
    projected: {sources: [{downwardAPI: {items: [{path: ns, fieldRef: {fieldPath: metadata.namespace}}]}}]}
  initContainers:
  - name: a
    image: $BUSYBOX
    command: [sh, -c, 'echo a wrote this > /disk/f; echo in memory > /mem/f']
    volumeMounts: [{name: disk, mountPath: /disk}, {name: mem, mountPath: /mem}]
  - name: b
    image: $BUSYBOX
    env:
    - {name: A, value: a}
    - {name: B, value: $(A)-$(A) $$(A) $(NOPE)}
    - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: POD_UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
    - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
    command:
    - sh
    - -ec
    - |
      cd /out
      hostname > out-hostname; cat /etc/resolv.conf > out-resolv; cat /etc/hosts > out-hosts
      echo "$A" > out-env-plain; echo "$B" > out-env; echo "$NAME" > out-env-name; echo "$IP" > out-env-ip; echo "$CPU" > out-env-cpu
      echo "$POD_UID" > out-uid
      cat /down/labels > out-labels; cat /down/anno > out-anno; cat /down/limit > out-limit; cat /proj/ns > out-proj
      cat /disk/f > out-shared; echo "$(cat /mem/f) $(stat -f -c %T /mem)" > out-memory
      echo by the pod > /sub/written; [ -d /made ] && echo directory > out-made; cat /file > out-hostfile
      cp /sub/written /tmp/x && echo below sub > out-subpath
    volumeMounts:
    - {name: out, mountPath: /out}
    - {name: out, mountPath: /sub, subPath: host/sub}
    - {name: file, mountPath: /file, readOnly: true}
    - {name: made, mountPath: /made}
    - {name: disk, mountPath: /disk, readOnly: true}
    - {name: mem, mountPath: /mem}
    - {name: down, mountPath: /down}
    - {name: proj, mountPath: /proj}
  containers:
  - {name: c, image: $BUSYBOX, command: $WAIT, resources: {limits: {memory: 32Mi}}, volumeMounts: [{name: mem, mountPath: /mem}]}
`
