package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/trace"
)

// restartsFast has containers that crash start again within a second.
const restartsFast = "featureGates: {KubeletCrashLoopBackOffMax: true}\ncrashLoopBackOff: {maxContainerRestartPeriod: 1s}\n"

// TestHostileHosts has a container do its worst to the hosts file, which the agent compares before each start: the agent
// lives and needs no memory for it, and the next attempt finds the file right again.
func TestHostileHosts(t *testing.T) {
	n := newNode(t)
	n.config = restartsFast
	a := n.start()
	bounded := a.attacked()
	n.put("hosts.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: hosts}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: $BUSYBOX
    volumeMounts: [{name: host, mountPath: /host}]
    command:
    - sh
    - -c
    - |
      if grep -q "$HOSTNAME" /etc/hosts && [ $(wc -c < /etc/hosts) -lt 2000 ] && [ $(stat -c %a /etc/hosts) = 644 ]; then echo right; else echo wrong; fi >> /host/log
      case $(wc -l < /host/log) in
      1) truncate -s 4096G /etc/hosts || echo no >> /host/log;;
      2) yes "" | head -c 100000000 > /etc/hosts;;
      3) chmod 0 /etc/hosts; : > /etc/hosts; truncate -s 4096G /dev/termination-log;;
      4) rm -f /etc/hosts; ln -sf /etc/shadow /etc/hosts; mv /bin/sh /etc/hosts; sed -i s/0/1/g /etc/hosts; echo; echo 127.0.0.1 mine >> /etc/hosts;;
      *) echo "that is all" > /dev/termination-log; sleep 1000000;;
      esac
      exit 1
  volumes:
  - {name: host, hostPath: {path: $DIR}}
`)
	a.status("hosts", "to have started five times", func(s trace.PodStatus) bool { return s.Restarts >= 4 })
	n.await("the fifth attempt", func() bool { return strings.Count(n.read("log"), "\n") >= 4 })
	if got := n.read("log"); got != "right\nright\nright\nright\nright" {
		t.Errorf("the attempts found their hosts file\n%s", got)
	}
	bounded("hosts files and termination logs of 4 TiB")
}

// TestHostileFiles has init containers put things in the place of the files that their pods' environments and termination
// messages come from. None is opened: their pods say what is wrong, other pods start, and the agent ends when it is told to.
func TestHostileFiles(t *testing.T) {
	n := newNode(t)
	a := n.start()
	bounded := a.attacked()
	things := map[string]struct{ make, want string }{
		"fifo":   {"mkfifo /vol/env", "env is a named pipe, want a regular file"},
		"huge":   {"truncate -s 4096G /vol/env", "env is 4398046511104 bytes long, want at most 1048576"},
		"device": {"mknod /vol/env c 10 250", "env is a character device, want a regular file"},
		"link":   {"ln -s /etc/shadow /vol/env", "env leads out of the volume"},
		"dir":    {"mkdir /vol/env", "env is a directory, want a regular file"},
	}
	for name, thing := range things {
		n.put(name+".yaml", `
apiVersion: v1
kind: Pod
metadata: {name: `+name+`}
spec:
  terminationGracePeriodSeconds: 0
  initContainers:
  - {name: init, image: $BUSYBOX, command: [sh, -c, "`+thing.make+`"], volumeMounts: [{name: vol, mountPath: /vol}]}
  containers:
  - name: main
    image: $BUSYBOX
    command: $WAIT
    env: [{name: VALUE, valueFrom: {fileKeyRef: {volumeName: vol, path: env, key: VALUE}}}]
  volumes: [{name: vol, emptyDir: {}}]
`)
	}
	for name, thing := range things {
		if got := a.reason(name, "main", "CreateContainerConfigError"); !strings.Contains(got.Message, thing.want) {
			t.Errorf("%s: %q, want %q", name, got.Message, thing.want)
		}
	}
	// Where a pod mounts a file at its terminationMessagePath, that is what is read.
	n.put("words.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: words}
spec:
  terminationGracePeriodSeconds: 0
  restartPolicy: Never
  initContainers:
  - {name: init, image: $BUSYBOX, command: [mkfifo, /vol/words], volumeMounts: [{name: vol, mountPath: /vol}]}
  containers:
  - {name: main, image: $BUSYBOX, command: ["true"], volumeMounts: [{name: vol, mountPath: /dev/termination-log, subPath: words}]}
  - {name: huge, image: $BUSYBOX, command: [sh, -c, "truncate -s 4096G /dev/termination-log; exit 3"]}
  volumes: [{name: vol, emptyDir: {}}]
`)
	n.put("plain.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: plain}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: $BUSYBOX, command: $WAIT}]
`)
	a.ready("plain")
	s := a.status("words", "to have ended", func(s trace.PodStatus) bool { return s.Phase == trace.PodFailed })
	if got := statusOf(s, "huge"); len(got.Message) > 4096 {
		t.Errorf("a huge message: %d bytes", len(got.Message))
	}
	bounded("pipes, devices, links and huge files for environments and messages")
	a.stop()
	n.start()
}

// TestHungFile has the agent's open of a hosts file hang in the kernel, as on a file system that does not answer. The pod
// says so, other pods start, and the agent ends when it is told to.
func TestHungFile(t *testing.T) {
	n := newNode(t)
	n.config = restartsFast
	a := n.start()
	n.put("hung.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: hung}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - {name: main, image: $BUSYBOX, command: [sh, -c, "while ! [ -e /host/go ]; do sleep 0.1; done; exit 1"], volumeMounts: [{name: host, mountPath: /host}]}
  volumes: [{name: host, hostPath: {path: $DIR}}]
`)
	a.ready("hung")
	bounded := a.attacked()
	hosts := filepath.Join(n.root, "pods", n.sandboxes("hung")[0].Labels[labelUID], "etc-hosts")
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	group := os.NewFile(uintptr(fd), "fanotify")
	defer group.Close()
	if err := unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN_PERM, unix.AT_FDCWD, hosts); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(n.scratch, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a.status("hung", "to say that the file system does not answer", func(s trace.PodStatus) bool {
		return strings.Contains(statusOf(s, "main").Message, "the file system does not answer")
	})
	for i := range 4 {
		name := fmt.Sprintf("plain%d", i)
		n.put(name+".yaml", `
apiVersion: v1
kind: Pod
metadata: {name: `+name+`}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: $BUSYBOX, command: $WAIT}]
`)
		a.ready(name)
	}
	bounded("a file system that does not answer")
	a.stop()
	if err := group.Close(); err != nil { // everything is allowed now
		t.Fatal(err)
	}
	n.start()
}
