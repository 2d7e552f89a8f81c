package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestGates turns on feature gates that act on what the runtime does: the stop signal of a container, the mode of an emptyDir, the first back-off.
func TestGates(t *testing.T) {
	n := newNode(t)
	a := n.start("--feature-gates", "ContainerStopSignals=true,EmptyDirVolumeMode=true,ReduceDefaultCrashLoopBackOffDecay=true,CRIListStreaming=true")
	n.put("signal.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: signal}
spec:
  os: {name: linux}
  terminationGracePeriodSeconds: 60
  containers:
  - name: main
    image: $BUSYBOX
    command: [sh, -c, 'trap "echo USR1 > /out/said; exit 0" USR1; touch /out/traps; while :; do sleep 0.1; done']
    lifecycle: {stopSignal: SIGUSR1}
    volumeMounts: [{name: out, mountPath: /out}, {name: mode, mountPath: /mode}]
  volumes:
  - {name: out, hostPath: {path: $DIR}}
  - {name: mode, emptyDir: {mode: 0750}}
`)
	n.put("crash.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: crash}
spec:
  containers: [{name: main, image: $BUSYBOX, command: ["false"]}]
`)
	a.ready("signal")
	if got := n.exec("signal", "main", "stat", "-c", "%a", "/mode"); got != "750" {
		t.Errorf("the emptyDir's mode is %s", got)
	}
	n.await("the container to handle its signal", func() bool { _, err := os.Stat(filepath.Join(n.scratch, "traps")); return err == nil })
	n.drop("signal.yaml")
	a.gone("signal")
	if got := n.read("said"); got != "USR1" {
		t.Errorf("the container was told %q", got)
	}
	r := a.wait("a back-off of the container that ends", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Wait)
		return ok && r.Pod.Name == "crash-"+n.name && e.Reason == "CrashLoopBackOff" && e.Until > 0
	})
	if left := time.Duration(r.Event.(*trace.Wait).Until - r.Time); left > time.Second {
		t.Errorf("the container waits for %v, want 1 s at most", left)
	}
}
